import { setImmediate as eventLoopTurn } from 'node:timers/promises';

/**
 * Where a process dies: right before or right after the n-th call of a statement, or as soon as it is sent, so that the
 * database may or may not have done it. `commit` is the end of a transaction; steps in files are `fs.rename` and alike,
 * requests to a bucket `s3.PutObject` and alike.
 */
export interface CrashPoint {
  statement: string;
  /** 1 is the first call. */
  call: number;
  when: 'before' | 'during' | 'after';
}

/** Counts calls by name, and calls back at one point of them. */
export class CrashCounter {
  readonly calls = new Map<string, number>();
  readonly #point: CrashPoint | null;
  readonly #crash: () => Promise<never>;

  constructor(point: CrashPoint | null, crash: () => Promise<never>) {
    this.#point = point;
    this.#crash = crash;
  }

  async around<T>(name: string, work: () => Promise<T>): Promise<T> {
    const call = this.count(name);
    await this.at(name, call, 'before');
    this.soon(name, call);
    const result = await work();
    await this.at(name, call, 'after');
    return result;
  }

  count(name: string): number {
    const call = (this.calls.get(name) ?? 0) + 1;
    this.calls.set(name, call);
    return call;
  }

  async at(statement: string, call: number, when: CrashPoint['when']): Promise<void> {
    if (this.#is(statement, call, when)) await this.#crash();
  }

  /** Lets what follows be written to its connection, and dies without waiting for the answer. */
  soon(statement: string, call: number): void {
    if (this.#is(statement, call, 'during')) void eventLoopTurn().then(() => this.#crash());
  }

  #is(statement: string, call: number, when: CrashPoint['when']): boolean {
    const point = this.#point;
    return point?.statement === statement && point.call === call && point.when === when;
  }
}
