/** Common parameters of statements on runners. */
export interface StatementContext {
  /** ISO time; null: the database's clock. */
  readonly now: string | null;
  /** Overrides of the policy in the database: PoolTimes and `max_uses` as JSON. */
  readonly times: string;
}
