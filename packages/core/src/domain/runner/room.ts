/** Capacity that a waiting request needs in a full pool. */
export interface CapacityShortage {
  readonly request_id: string;
  /** Runners that it lacks and that are not being launched. */
  readonly missing: number;
  /** Created runners of the shape that the planner saw; if the number has changed, nothing is done. */
  readonly coming: number;
  /** Maximum number of runners that are not terminated. */
  readonly max_runners: number;
  /** Number of later requests that may still be granted first, once no capacity was found. */
  readonly overtakes: number;
  /** How long the limit of `overtakes` applies unless it is renewed, milliseconds. */
  readonly lease_ms: number;
}
