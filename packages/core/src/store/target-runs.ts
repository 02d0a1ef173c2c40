import type { Queryable, Statement } from './database.ts';

/** Tables of one type of target with its runs. */
export interface TargetRunTables {
  /** Name prefix of the statements. */
  name: string;
  targets: string;
  runs: string;
  /** Table of what the runs saw. */
  rows: string;
  /** Columns of a run `r` and its target `t`. */
  runColumns: string;
  /** Runs beside the latest that are never deleted, as a condition on `r` and `t`. */
  keptRuns?: string;
}

interface AnyRun {
  target: string;
}

/** The run's columns are null if there is none. */
type TargetRow = { target: string; runs: number; id: string | null };

/** Begins, finds, lists and deletes runs; what a run saw belongs to its owner. */
export class TargetRuns<Run extends AnyRun> {
  readonly #lockTarget: Statement;
  readonly #insertRun: Statement;
  readonly #countRun: Statement;
  readonly #getRun: Statement;
  readonly #listTargets: Statement;
  readonly #deleteGone: Statement;
  readonly #deleteRuns: Statement;

  constructor({ name, targets, runs, rows, runColumns, keptRuns = 'false' }: TargetRunTables) {
    const statement = (own: string, text: string): Statement => ({ name: `${name}.${own}`, text });
    const old = (at: string): string =>
      `${at} < coalesce($3::timestamptz, clock_timestamp()) - $1 * interval '1 millisecond'`;
    // Creates a new target, and locks it against other runs until the transaction ends.
    this.#lockTarget = statement(
      'lock_target',
      `insert into ${targets} (name) values ($1) on conflict (name) do update set name = excluded.name returning id, runs`,
    );
    this.#insertRun = statement(
      'insert_run',
      `insert into ${runs} (id, target_id, number, started_at)
        values ($1, $2, $3, coalesce($4::timestamptz, clock_timestamp())) on conflict (id) do nothing returning id`,
    );
    this.#countRun = statement('count_run', `update ${targets} set runs = $2 where id = $1`);
    this.#getRun = statement(
      'get_run',
      `select ${runColumns}, r.number = t.runs as latest from ${runs} r join ${targets} t on t.id = r.target_id where r.id = $1`,
    );
    this.#listTargets = statement(
      'list_targets',
      `select ${runColumns}, t.runs from (select * from ${targets} order by name limit $1 offset $2) t
        left join ${runs} r on r.target_id = t.id and r.number = t.runs order by t.name`,
    );
    this.#deleteGone = statement(
      'delete_gone',
      `delete from ${rows} where id in (
        select id from ${rows} where ${old('gone_at')} order by gone_at limit $2 for update skip locked)`,
    );
    // The latest run of a target is kept, however old, since numbers continue from it.
    this.#deleteRuns = statement(
      'delete_runs',
      `delete from ${runs} where id in (
        select r.id from ${runs} r join ${targets} t on t.id = r.target_id
        where r.number < t.runs and not (${keptRuns}) and ${old('r.started_at')} limit $2)`,
    );
  }

  /** Begins a run of a target, within a transaction; continues one that was begun before. */
  async insert(tx: Queryable, id: string, target: string, now: string | null): Promise<void> {
    const [locked] = await tx.query<{ id: number; runs: number }>(this.#lockTarget, [target]);
    const number = locked!.runs + 1;
    const inserted = await tx.query(this.#insertRun, [id, locked!.id, number, now]);
    if (inserted.length > 0) await tx.query(this.#countRun, [locked!.id, number]);
  }

  /** `latest`: no later run of its target has begun. */
  async find(queryable: Queryable, id: string): Promise<{ latest: boolean; run: Run } | null> {
    const [row] = await queryable.query<Run & { latest: boolean }>(this.#getRun, [id]);
    if (row === undefined) return null;
    const { latest, ...run } = row;
    return { latest, run: run as unknown as Run };
  }

  /** Returns targets by name, each with its latest run. */
  async targets(
    queryable: Queryable,
    page: { offset: number; limit: number },
  ): Promise<{ target: string; runs: number; last_run: Run | null }[]> {
    const rows = await queryable.query<TargetRow>(this.#listTargets, [page.limit, page.offset]);
    return rows.map(({ runs, ...run }) => ({
      target: run.target,
      runs,
      last_run: run.id === null ? null : (run as unknown as Run),
    }));
  }

  /** Deletes at most `limit` each of gone rows and of runs older than `keepMs`. */
  async deleteOld(queryable: Queryable, keepMs: number, limit: number, now: string | null): Promise<void> {
    await queryable.query(this.#deleteGone, [keepMs, limit, now]);
    await queryable.query(this.#deleteRuns, [keepMs, limit, now]);
  }
}

/** Result of a statement that marks rows by id: their number, and the last id. */
export interface Marked {
  n: number;
  last: string | null;
}

/** Returns where to continue marking; null: no more rows. */
export function nextAfter(marked: Marked | undefined, limit: number): string | null {
  return marked!.n < limit ? null : marked!.last;
}
