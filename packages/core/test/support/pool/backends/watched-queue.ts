import type { MessageQueue, OutgoingMessage, ReceivedMessage, ReceiveOptions } from '../../../../src/queue/port.ts';

/** A call as one line. */
export type Call = string;

class Crash extends Error {
  constructor() {
    super('the process was killed here');
  }
}

/** `before`: the call is not sent. `after`: it is executed, but its answer is lost. */
export interface CrashPoint {
  /** Index of the call, from 0. */
  readonly call: number;
  readonly when: 'before' | 'after';
}

/**
 * A queue that records calls and fails on demand. After a crash every call fails, since the process
 * is gone.
 */
export class WatchedQueue implements MessageQueue {
  readonly driver = 'memory';
  readonly calls: Call[] = [];
  /** Number of short polls that return nothing although messages exist. */
  falseEmpties: () => boolean = () => false;
  crashAt: CrashPoint | null = null;
  /** Called before each receive. */
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

  /** Records a step that is not a call of the queue, such as a claim in the store. */
  step<T>(name: string, run: () => Promise<T>): Promise<T> {
    return this.#call(name, run);
  }

  sendIn = (): never => this.#unexpected('sendIn');
  release = (): never => this.#unexpected('release');
  deadLetter = (): never => this.#unexpected('deadLetter');
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
