/** Policy for finding idle runners in queues. */
export interface PickupPolicy {
  /** How often one pickup may see the same runner; the next sighting means that the pool is exhausted. */
  readonly tolerance: number;
  /** How long a runner that does not fit is hidden after it is requeued, milliseconds; with one queue per class. */
  readonly requeue_delay_ms: number;
  /** How long a runner that became idle is hidden, milliseconds. */
  readonly offer_delay_ms: number;
  /** Visibility timeout of a message while its runner is claimed, milliseconds; after a crash it reappears then. */
  readonly visibility_ms: number;
  /** Duration of the long poll that confirms an empty queue, milliseconds; 0: none. */
  readonly confirm_ms: number;
  /** Messages received for one request before the result is `uncertain`. */
  readonly looks_max: number;
  /** How long one pickup searches before the result is `uncertain`, milliseconds. */
  readonly look_ms: number;
  /** Maximum number of concurrent requests, or calls to the queue. */
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
