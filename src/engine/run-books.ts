import { HeddleError } from '../domain/errors.ts';
import type { Database, Queryable } from '../store/database.ts';
import type { TargetRuns } from '../store/target-runs.ts';

/** How a run of findings, or of models, ends: what it has missed is gone. */
export interface RunEnd {
  /** Marks at most `limit` rows after `after`; null: there are no more. */
  markGone: (queryable: Queryable, id: string, after: string, limit: number) => Promise<string | null>;
  finish: (queryable: Queryable, id: string, complete: boolean, now: string | null) => Promise<void>;
}

export interface BooksOptions {
  database: Database;
  /** The moment that statements work with: null lets the database say, so that servers need not agree on the time. */
  readonly now?: () => string | null;
}

/** Rows that one statement merges or marks. */
export const BOOK_ROWS = 1000;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** The runs of one database's findings, or of its models. */
export class RunBooks<Run extends { target: string; ended_at: number | null }> {
  readonly #options: BooksOptions;
  readonly #runs: TargetRuns<Run>;
  readonly #end: RunEnd;

  constructor(options: BooksOptions, runs: TargetRuns<Run>, end: RunEnd) {
    this.#options = options;
    this.#runs = runs;
    this.#end = end;
  }

  /** @throws HeddleError CONFLICT where the run is one of another target */
  async begin(id: string, target: string): Promise<{ open: boolean; run: Run }> {
    await this.#options.database.transaction((tx) => this.#runs.insert(tx, id, target, this.#now()));
    const { latest, run } = await this.require(id);
    if (run.target !== target) {
      throw new HeddleError('CONFLICT', `The run ${id} is one of ${run.target}, not of ${target}`);
    }
    return { open: latest || run.ended_at === null, run };
  }

  /**
   * Marks what is gone and closes the run. What it covers must have been written down before: from then on every run of
   * the target, also one that was begun before and ends later, marks what the covering one has missed.
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
