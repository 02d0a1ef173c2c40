/** How idle runners are looked for in queues; each number is a setting. */
export interface PickupPolicy {
  /** Sightings of one runner by one manager that are borne; at the next one its pool counts as exhausted. */
  readonly tolerance: number;
  /** For how long a runner that is somebody else's is hidden from everybody, milliseconds; with one queue a class. */
  readonly requeue_delay_ms: number;
  /** For how long a runner that became idle is hidden from everybody, milliseconds. */
  readonly offer_delay_ms: number;
  /** For how long a message is held while its runner is claimed, milliseconds; after a crash it is back then. */
  readonly visibility_ms: number;
  /** How long an empty answer is held against the whole queue, milliseconds. */
  readonly confirm_ms: number;
  /** Messages that are looked at for one request before the pool counts as uncertain. */
  readonly looks_max: number;
  /** How long one pickup looks before the pool counts as uncertain, milliseconds. */
  readonly look_ms: number;
  /** Requests, or calls to the queue, under way at once. */
  readonly width: number;
}

export const CLASSIC_POLICY: PickupPolicy = {
  tolerance: 5,
  requeue_delay_ms: 3_000,
  offer_delay_ms: 3_000,
  visibility_ms: 30_000,
  confirm_ms: 0,
  looks_max: 2_000,
  look_ms: 10_000,
  width: 16,
};

export const SHARDED_POLICY: PickupPolicy = {
  ...CLASSIC_POLICY,
  offer_delay_ms: 0,
  confirm_ms: 1_000,
};
