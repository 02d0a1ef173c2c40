import type { JsonValue } from '@heddle/base/json';
import type { Logger } from '@heddle/base/log';
import type { ClaimedTask, ProgressResult } from '@heddle/core/engine/port';
import type { Completion } from './kind/completion.ts';

/** What an executor receives beside its task. */
export interface TaskContext {
  /** Aborts when the task was canceled or timed out, and when the worker stops. */
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** W3C trace context of the task; null if there is none. */
  readonly traceparent: string | null;
  /** Aborts when another of the task's runners is lost; absent if there is no other. */
  readonly runnerLost?: AbortSignal;
  /** Adds lines to the task's log, as the output of a command. */
  readonly output: (stream: 'stdout' | 'stderr', text: string) => void;
  /** Adds to the task's counters; resolves when they are durable. Need not be awaited. */
  readonly progress: (newSuccess: number, newFailures: number) => Promise<ProgressResult>;
}

/**
 * Runs one task in this process. Its return value is the task's result, a Completion the whole outcome, and an
 * exception its failure. Returning without a promise costs least.
 */
export type Executor = (task: ClaimedTask, context: TaskContext) => ExecutorResult | Promise<ExecutorResult>;
// eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- an executor that returns nothing is the common one
export type ExecutorResult = JsonValue | Completion | undefined | void;

const KIND_LENGTH_MAX = 100;

/** The lane of tasks of a kind, as claims name it. */
function laneOf(kind: string): string {
  return `kind:${kind}`;
}

/** Maps kinds to executors. With an allow-list, only those kinds run here, even if others are registered. */
export class ExecutorRegistry {
  readonly #executors = new Map<string, Executor>();
  readonly #allowed: ReadonlySet<string> | null;

  /** @param allowed kinds that may run in this process; null for all registered ones */
  constructor(allowed: readonly string[] | null = null) {
    this.#allowed = allowed === null ? null : new Set(allowed);
  }

  static of(executors: Readonly<Record<string, Executor>>, allowed: readonly string[] | null = null): ExecutorRegistry {
    const board = new ExecutorRegistry(allowed);
    for (const [kind, executor] of Object.entries(executors)) board.register(kind, executor);
    return board;
  }

  /** Registers an executor; throws if the kind already has one. */
  register(kind: string, executor: Executor): this {
    if (kind === '' || kind.length > KIND_LENGTH_MAX) {
      throw new RangeError(`a kind must have 1 to ${KIND_LENGTH_MAX} characters, not ${kind.length}`);
    }
    if (this.#executors.has(kind)) throw new Error(`the kind ${kind} already has an executor`);
    this.#executors.set(kind, executor);
    return this;
  }

  /** Returns the executor of this kind; undefined if it has none or may not run here. */
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

  /** Allowed kinds without an executor: most likely misspelled. */
  unknownAllowed(): string[] {
    return [...(this.#allowed ?? [])].filter((kind) => !this.#executors.has(kind));
  }
}
