/** What functions on runners work with, besides what they are told. */
export interface RunnerMoment {
  /** ISO time; null: the database's clock. */
  readonly now: string | null;
  /** PoolTimes and `max_uses` as JSON text, where they are not to be those of the database's policy. */
  readonly times: string;
}
