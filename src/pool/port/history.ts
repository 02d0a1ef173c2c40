/** How a class stood in one minute. */
export interface PoolSample {
  /** Milliseconds since the epoch, a whole minute. */
  readonly at: number;
  readonly resource_class: string;
  readonly usage_class: string;
  readonly created: number;
  readonly idle: number;
  readonly claimed: number;
  readonly running: number;
  /** Runners that waiting requests asked for. */
  readonly waiting: number;
}

/** The pool minute by minute. */
export interface PoolHistory {
  /** Notes how the classes stand in this minute; a second note of the same minute changes nothing. */
  sample(): Promise<void>;
  /** Samples from this moment on, oldest first, milliseconds since the epoch. */
  samples(from: number, limit: number): Promise<PoolSample[]>;
}
