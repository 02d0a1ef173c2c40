import type { Database, Queryable, Statement, TransactionOptions } from '@heddle/core/store/database';
import { openTestDatabase } from '@heddle/test-support/postgres';
import { CrashingDatabase, type CrashPoint } from '@heddle/test-support/reliability/crashing-database';

const TERMINATE: Statement = {
  name: 'test.terminate',
  text: `select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = $1`,
};

/**
 * The database as one process sees it that dies at a point: nothing that it asks for later is answered, and its
 * connections break, which rolls back what it had not committed. What waits for an answer then waits forever, as it
 * would in a process that is gone.
 */
export class MortalDatabase implements Database {
  /** Resolves when the process is dead. */
  readonly death: Promise<void>;
  readonly #name: string;
  readonly #pool: Database;
  readonly #crashing: CrashingDatabase;
  /** Whether it came to the point. */
  died = false;
  #dead = false;

  constructor(url: string, name: string, point: CrashPoint | null) {
    this.#name = name;
    this.#pool = openTestDatabase(url, { applicationName: name, maxSize: 3 });
    let died = (): void => undefined;
    this.death = new Promise((resolve) => (died = resolve));
    this.#crashing = new CrashingDatabase(this.#pool, point, () => {
      this.died = true;
      this.#dead = true;
      died();
      return forever();
    });
  }

  get calls(): ReadonlyMap<string, number> {
    return this.#crashing.calls;
  }

  query<Row>(statement: Statement, values?: readonly unknown[]): Promise<Row[]> {
    return this.#whileAlive(() => this.#crashing.query<Row>(statement, values));
  }

  transaction<T>(run: (tx: Queryable) => Promise<T>, options?: TransactionOptions): Promise<T> {
    const inside = async (tx: Queryable): Promise<T> => {
      const result = await run({ query: (statement, values) => this.#whileAlive(() => tx.query(statement, values)) });
      return this.#isDead() ? forever() : result;
    };
    return this.#whileAlive(() => this.#crashing.transaction(inside, options));
  }

  /** Takes its connections away and waits until the server knows; `undertaker` is another pool on the same database. */
  async deadLetter(undertaker: Database): Promise<void> {
    this.#dead = true;
    await undertaker.query(TERMINATE, [this.#name]);
    // What is on loan is never given back, so this takes its grace time; no one has to wait for it.
    void this.#pool.close();
  }

  async #whileAlive<T>(work: () => Promise<T>): Promise<T> {
    if (this.#dead) return forever();
    try {
      const result = await work();
      return this.#isDead() ? await forever() : result;
    } catch (error) {
      if (this.#isDead()) return forever();
      throw error;
    }
  }

  /** Asked through a function because the compiler holds what was asked before for settled. */
  #isDead(): boolean {
    return this.#dead;
  }

  listen(): Promise<() => Promise<void>> {
    return Promise.resolve(() => Promise.resolve());
  }

  stats(): ReturnType<Database['stats']> {
    return this.#pool.stats();
  }

  ping(): Promise<void> {
    return this.#pool.ping();
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}

function forever(): Promise<never> {
  return new Promise(() => undefined);
}
