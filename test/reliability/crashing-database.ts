import type { Database, Queryable, Statement, TransactionOptions } from '../../src/store/database.ts';

/** Where a process dies: right before or right after the n-th call of a statement; `commit` is the end of a transaction. */
export interface CrashPoint {
  statement: string;
  /** 1 is the first call. */
  call: number;
  when: 'before' | 'after';
}

/** Passes everything on to a database, counts the calls, and calls back at one point of them. */
export class CrashingDatabase implements Database {
  readonly calls = new Map<string, number>();
  readonly #inner: Database;
  readonly #point: CrashPoint | null;
  readonly #crash: () => Promise<never>;

  constructor(inner: Database, point: CrashPoint | null, crash: () => Promise<never>) {
    this.#inner = inner;
    this.#point = point;
    this.#crash = crash;
  }

  query<Row>(statement: Statement, values?: readonly unknown[]): Promise<Row[]> {
    return this.#around(statement.name, () => this.#inner.query<Row>(statement, values));
  }

  transaction<T>(run: (tx: Queryable) => Promise<T>, options?: TransactionOptions): Promise<T> {
    let call = 0;
    const inside = async (tx: Queryable): Promise<T> => {
      const result = await run({
        query: (statement, values) => this.#around(statement.name, () => tx.query(statement, values)),
      });
      call = this.#count('commit');
      await this.#at('commit', call, 'before');
      return result;
    };
    return this.#inner.transaction(inside, options).then(async (result) => {
      await this.#at('commit', call, 'after');
      return result;
    });
  }

  async #around<T>(name: string, work: () => Promise<T>): Promise<T> {
    const call = this.#count(name);
    await this.#at(name, call, 'before');
    const result = await work();
    await this.#at(name, call, 'after');
    return result;
  }

  #count(name: string): number {
    const call = (this.calls.get(name) ?? 0) + 1;
    this.calls.set(name, call);
    return call;
  }

  async #at(statement: string, call: number, when: CrashPoint['when']): Promise<void> {
    const point = this.#point;
    if (point?.statement === statement && point.call === call && point.when === when) await this.#crash();
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
