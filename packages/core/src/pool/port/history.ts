/** State of a class in one minute. */
export interface PoolSample {
  /** Milliseconds since the epoch, a whole minute. */
  readonly at: number;
  readonly resource_class: string;
  readonly usage_class: string;
  readonly created: number;
  readonly idle: number;
  readonly claimed: number;
  readonly running: number;
  /** Runners that waiting requests ask for. */
  readonly waiting: number;
}

/** Per-minute history of the pool. */
export interface PoolHistory {
  /** Records one sample per class for this minute; a second call in the same minute changes nothing. */
  sample(): Promise<void>;
  /** Returns the samples taken at or after `from` (milliseconds since the epoch), oldest first. */
  samples(from: number, limit: number): Promise<PoolSample[]>;
}
