/** What functions on runners work with, besides what they are told. */
export interface RunnerMoment {
  /** ISO time; null: the database's clock. */
  readonly now: string | null;
  /** PoolTimes and `max_uses` as JSON text. */
  readonly times: string;
}
