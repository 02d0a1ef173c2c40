import type { MessageQueue, OutgoingMessage, ReceivedMessage, ReceiveOptions } from '../../../src/queue/port.ts';

/** A call as a test sees it: what was asked for, in one line. */
export type Call = string;

export class Crash extends Error {
  constructor() {
    super('the process was killed here');
  }
}

/** `before`: the call never leaves. `after`: it is done, and nobody hears of it. */
export interface CrashPoint {
  /** Which call it is, from 0. */
  readonly call: number;
  readonly when: 'before' | 'after';
}

/**
 * A queue that notes what it is asked to do, and fails where a test says so. After a crash every call fails: the process
 * is gone.
 */
export class WatchedQueue implements MessageQueue {
  readonly driver = 'memory';
  readonly calls: Call[] = [];
  /** Answers of short polls that are empty though something is there. */
  falseEmpties: () => boolean = () => false;
  crashAt: CrashPoint | null = null;
  /** What happens before each look. */
  beforeReceive: () => Promise<void> = () => Promise.resolve();
  readonly #queue: MessageQueue;
  #crashed = false;

  constructor(queue: MessageQueue) {
    this.#queue = queue;
  }

  get hasCrashed(): boolean {
    return this.#crashed;
  }

  send(queue: string, messages: readonly OutgoingMessage[]): Promise<void> {
    const delay = messages[0]?.delay_ms ?? 0;
    return this.#call(`send ${queue} ${messages.length} after ${delay}`, () => this.#queue.send(queue, messages));
  }

  receive(queue: string, options: ReceiveOptions): Promise<ReceivedMessage[]> {
    return this.#call(`receive ${queue} ${options.max} within ${options.wait_ms}`, async () => {
      await this.beforeReceive();
      if (options.wait_ms === 0 && this.falseEmpties()) return [];
      return await this.#queue.receive(queue, options);
    });
  }

  extend(queue: string, receipts: readonly string[], visibilityMs: number): Promise<void> {
    return this.#call(`extend ${queue} ${receipts.length}`, () => this.#queue.extend(queue, receipts, visibilityMs));
  }

  delete(queue: string, receipts: readonly string[]): Promise<void> {
    return this.#call(`delete ${queue} ${receipts.length}`, () => this.#queue.delete(queue, receipts));
  }

  /** A step that is no call of the queue: a claim of the store, say. */
  step<T>(name: string, run: () => Promise<T>): Promise<T> {
    return this.#call(name, run);
  }

  sendIn = (): never => this.#unexpected('sendIn');
  release = (): never => this.#unexpected('release');
  bury = (): never => this.#unexpected('bury');
  listDead = (): never => this.#unexpected('listDead');
  redrive = (): never => this.#unexpected('redrive');

  depth(queue: string): ReturnType<MessageQueue['depth']> {
    return this.#queue.depth(queue);
  }

  close(): Promise<void> {
    return this.#queue.close();
  }

  async #call<T>(name: string, run: () => Promise<T>): Promise<T> {
    if (this.#crashed) throw new Crash();
    const at = this.calls.push(name) - 1;
    if (this.crashAt?.call !== at) return await run();
    this.#crashed = true;
    if (this.crashAt.when === 'after') await run();
    throw new Crash();
  }

  #unexpected(name: string): never {
    throw new Error(`a backend of the pool has no use for ${name}`);
  }
}
