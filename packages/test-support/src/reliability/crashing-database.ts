import { setImmediate as eventLoopTurn } from 'node:timers/promises';

import type { Database, Queryable, Statement, TransactionOptions } from '@heddle/core/store/database';

/**
 * Where a process dies: right before or right after the n-th call of a statement, or as soon as it is sent, so that the
 * database may or may not have done it. `commit` is the end of a transaction.
 */
export interface CrashPoint {
  statement: string;
  /** 1 is the first call. */
  call: number;
  when: 'before' | 'during' | 'after';
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
      this.#soon('commit', call);
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
    this.#soon(name, call);
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
    if (this.#is(statement, call, when)) await this.#crash();
  }

  /** Lets what follows be written to its connection, and dies without waiting for the answer. */
  #soon(statement: string, call: number): void {
    if (this.#is(statement, call, 'during')) void eventLoopTurn().then(() => this.#crash());
  }

  #is(statement: string, call: number, when: CrashPoint['when']): boolean {
    const point = this.#point;
    return point?.statement === statement && point.call === call && point.when === when;
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
