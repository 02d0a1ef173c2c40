import type { JsonValue } from '../domain/json.ts';
import type { Logger } from '../runtime/log.ts';
import type { ClaimedTask, ProgressResult } from '../engine/port.ts';
import type { Completion } from './kind/completion.ts';

/** What an executor has beside its task. */
export interface TaskContext {
  /** Aborts when the task was canceled or timed out, and when the worker stops. */
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** W3C trace context of the task; null where there is none. */
  readonly traceparent: string | null;
  /** Aborts when another one of the task's runners is lost; absent where it has none. */
  readonly runnerLost?: AbortSignal;
  /** Adds to the task's counters; resolves when they are durable. Need not be awaited. */
  readonly progress: (newSuccess: number, newFailures: number) => Promise<ProgressResult>;
}

/**
 * Runs one task in this process. What it returns becomes the task's result, a Completion its whole end; what it throws,
 * its failure. One that returns without a promise costs least.
 */
export type Executor = (task: ClaimedTask, context: TaskContext) => ExecutorResult | Promise<ExecutorResult>;
// eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- an executor that returns nothing is the common one
export type ExecutorResult = JsonValue | Completion | undefined | void;

const KIND_LENGTH_MAX = 100;

/** The lane of tasks of a kind, as claims name it. */
export function laneOf(kind: string): string {
  return `kind:${kind}`;
}

/** Kind to executor. With an allow-list, only its kinds are run here, whatever else is registered. */
export class Switchboard {
  readonly #executors = new Map<string, Executor>();
  readonly #allowed: ReadonlySet<string> | null;

  /** @param allowed kinds that may run in this process; null for all that are registered */
  constructor(allowed: readonly string[] | null = null) {
    this.#allowed = allowed === null ? null : new Set(allowed);
  }

  static of(executors: Readonly<Record<string, Executor>>, allowed: readonly string[] | null = null): Switchboard {
    const board = new Switchboard(allowed);
    for (const [kind, executor] of Object.entries(executors)) board.register(kind, executor);
    return board;
  }

  /** Registers an executor; a kind that has one already is a programmer's error and throws. */
  register(kind: string, executor: Executor): this {
    if (kind === '' || kind.length > KIND_LENGTH_MAX) {
      throw new RangeError(`a kind has 1 to ${KIND_LENGTH_MAX} characters, not ${kind.length}`);
    }
    if (this.#executors.has(kind)) throw new Error(`the kind ${kind} has an executor already`);
    this.#executors.set(kind, executor);
    return this;
  }

  /** Who runs this kind here; undefined where nobody does or may. */
  executorOf(kind: string): Executor | undefined {
    return this.#allowed === null || this.#allowed.has(kind) ? this.#executors.get(kind) : undefined;
  }

  /** The kinds that run here. */
  kinds(): string[] {
    return [...this.#executors.keys()].filter((kind) => this.executorOf(kind) !== undefined);
  }

  lanes(): string[] {
    return this.kinds().map(laneOf);
  }

  /** Allowed kinds that nobody runs: most likely misspelt. */
  unknownAllowed(): string[] {
    return [...(this.#allowed ?? [])].filter((kind) => !this.#executors.has(kind));
  }
}
