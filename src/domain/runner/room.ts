/** What a request that waits needs room for, in a pool that is full. */
export interface RoomWanted {
  readonly request_id: string;
  /** Runners that it lacks and that are not coming. */
  readonly missing: number;
  /** Created runners of its shape that its planner saw; where there are others by now, nothing is done. */
  readonly coming: number;
  /** Most runners that are not terminated, all together. */
  readonly max_runners: number;
  /** So many others may still be granted runners before it once no room was found for it. */
  readonly overtakes: number;
  /** How long this holds where it is not said again. */
  readonly lease_ms: number;
}
