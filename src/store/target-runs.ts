import type { Queryable, Statement } from './database.ts';

/** The tables of something that is looked at in runs, each of a target. */
export interface TargetRunTables {
  /** What the names of the statements begin with. */
  name: string;
  targets: string;
  runs: string;
  /** What the runs saw. */
  rows: string;
  /** Columns of a run `r` and its target `t`. */
  runColumns: string;
  /** Runs beside the latest that are never deleted, as a condition on `r` and `t`. */
  keptRuns?: string;
}

interface AnyRun {
  target: string;
}

/** The columns of the run are null where there is none. */
type TargetRow = { target: string; runs: number; id: string | null };

/** Beginning, finding, listing and deleting runs; what a run saw is its owner's. */
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
    // Makes the target where it is new, and keeps others from starting a run of it until the transaction ends.
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
    // The latest run of a target stays, however old: numbers count on.
    this.#deleteRuns = statement(
      'delete_runs',
      `delete from ${runs} where id in (
        select r.id from ${runs} r join ${targets} t on t.id = r.target_id
        where r.number < t.runs and not (${keptRuns}) and ${old('r.started_at')} limit $2)`,
    );
  }

  /** Begins a run of a target, within a transaction; one that was begun before goes on. */
  async insert(tx: Queryable, id: string, target: string, now: string | null): Promise<void> {
    const [locked] = await tx.query<{ id: number; runs: number }>(this.#lockTarget, [target]);
    const number = locked!.runs + 1;
    const inserted = await tx.query(this.#insertRun, [id, locked!.id, number, now]);
    if (inserted.length > 0) await tx.query(this.#countRun, [locked!.id, number]);
  }

  /** `latest`: no later one of its target has begun. */
  async find(queryable: Queryable, id: string): Promise<{ latest: boolean; run: Run } | null> {
    const [row] = await queryable.query<Run & { latest: boolean }>(this.#getRun, [id]);
    if (row === undefined) return null;
    const { latest, ...run } = row;
    return { latest, run: run as unknown as Run };
  }

  /** By name, each with its latest run. */
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

  /** Deletes at most `limit` of each: what is gone, and runs that began, `keepMs` ago. */
  async deleteOld(queryable: Queryable, keepMs: number, limit: number, now: string | null): Promise<void> {
    await queryable.query(this.#deleteGone, [keepMs, limit, now]);
    await queryable.query(this.#deleteRuns, [keepMs, limit, now]);
  }
}

/** What a statement that marks rows by id tells: how many, and the last of them. */
export interface Marked {
  n: number;
  last: string | null;
}

/** Where to go on marking; null: there are no more. */
export function nextAfter(marked: Marked | undefined, limit: number): string | null {
  return marked!.n < limit ? null : marked!.last;
}
