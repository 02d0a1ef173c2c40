import { HeddleError } from '@heddle/base/errors';
import type { Database, Queryable } from '../store/database.ts';
import type { TargetRuns } from '../store/target-runs.ts';

/** How a run of findings or models ends: what it has not seen is gone. */
export interface RunEnd {
  /** Marks at most `limit` rows after `after`; returns null if there are no more. */
  markGone: (queryable: Queryable, id: string, after: string, limit: number) => Promise<string | null>;
  finish: (queryable: Queryable, id: string, complete: boolean, now: string | null) => Promise<void>;
}

export interface BooksOptions {
  database: Database;
  /** Time that statements use; null: the database's clock, so that servers need not agree on the time. */
  readonly now?: () => string | null;
}

/** Rows that one statement merges or marks. */
export const BOOK_ROWS = 1000;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** Runs of one database's findings or models. */
export class RunRepository<Run extends { target: string; ended_at: number | null }> {
  readonly #options: BooksOptions;
  readonly #runs: TargetRuns<Run>;
  readonly #end: RunEnd;

  constructor(options: BooksOptions, runs: TargetRuns<Run>, end: RunEnd) {
    this.#options = options;
    this.#runs = runs;
    this.#end = end;
  }

  /** @throws HeddleError CONFLICT if the run belongs to another target */
  async begin(id: string, target: string): Promise<{ open: boolean; run: Run }> {
    await this.#options.database.transaction((tx) => this.#runs.insert(tx, id, target, this.#now()));
    const { latest, run } = await this.require(id);
    if (run.target !== target) {
      throw new HeddleError('CONFLICT', `Run ${id} belongs to ${run.target}, not to ${target}`);
    }
    return { open: latest || run.ended_at === null, run };
  }

  /**
   * Marks what is gone and closes the run. The coverage must be recorded before: from then on every run of the target,
   * also one that began earlier and ends later, marks what the covering run has not seen.
   */
  async finish(id: string, complete: boolean): Promise<Run> {
    const { database } = this.#options;
    const { markGone, finish } = this.#end;
    for (let after: string | null = FIRST_ID; after !== null;) after = await markGone(database, id, after, BOOK_ROWS);
    await finish(database, id, complete, this.#now());
    return (await this.require(id)).run;
  }

  /** @throws HeddleError NOT_FOUND */
  async require(id: string): Promise<{ latest: boolean; run: Run }> {
    const found = await this.#runs.find(this.#options.database, id);
    if (found === null) throw new HeddleError('NOT_FOUND', `There is no run ${id}`);
    return found;
  }

  #now(): string | null {
    return this.#options.now?.() ?? null;
  }
}
