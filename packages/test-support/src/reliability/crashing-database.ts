import type { Database, Queryable, Statement, TransactionOptions } from '@heddle/core/store/database';
import { CrashCounter, type CrashPoint } from './crash-counter.ts';

export type { CrashPoint } from './crash-counter.ts';

/** Passes everything on to a database, counts the calls, and calls back at one point of them. */
export class CrashingDatabase implements Database {
  readonly counter: CrashCounter;
  readonly #inner: Database;

  constructor(inner: Database, point: CrashPoint | null, crash: () => Promise<never>) {
    this.#inner = inner;
    this.counter = new CrashCounter(point, crash);
  }

  get calls(): ReadonlyMap<string, number> {
    return this.counter.calls;
  }

  query<Row>(statement: Statement, values?: readonly unknown[]): Promise<Row[]> {
    return this.counter.around(statement.name, () => this.#inner.query<Row>(statement, values));
  }

  transaction<T>(run: (tx: Queryable) => Promise<T>, options?: TransactionOptions): Promise<T> {
    let call = 0;
    const inside = async (tx: Queryable): Promise<T> => {
      const result = await run({
        query: (statement, values) => this.counter.around(statement.name, () => tx.query(statement, values)),
      });
      call = this.counter.count('commit');
      await this.counter.at('commit', call, 'before');
      this.counter.soon('commit', call);
      return result;
    };
    return this.#inner.transaction(inside, options).then(async (result) => {
      await this.counter.at('commit', call, 'after');
      return result;
    });
  }

  listen(channel: string, onPayload: (payload: string) => void): Promise<() => Promise<void>> {
    return this.#inner.listen(channel, onPayload);
  }

  stats(): ReturnType<Database['stats']> {
    return this.#inner.stats();
  }

  ping(): Promise<void> {
    return this.#inner.ping();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}
