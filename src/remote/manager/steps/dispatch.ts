import type { ResolvedEvent } from '../../events/port.ts';
import type { JobOutcome } from '../../execution/port.ts';
import type { ManagerContext } from '../context.ts';
import { FairQueue } from '../fair-queue.ts';
import type { TaskEntry } from '../task-entry.ts';
import { capture } from './capture.ts';
import { execute } from './execute.ts';
import { instantiate, type TaskNode } from './instantiate.ts';
import { resolve } from './resolve.ts';

/** A resolution that takes longer than this is a pull: it holds no place any more that another task could have. */
const SLOW_RESOLUTION_MS = 10;
/** How long a start may have been written while no worker is free; longer, and it is taken back. */
const AHEAD_MS = 50;
/** Starts that are written while tasks are short, as a multiple of the workers. */
const AHEAD_FACTOR = 4;

/**
 * Step 7: tasks on their way to a worker. They wait in one fair queue, are resolved when a worker will be free for them,
 * have their start written down, and run. A task whose code must be fetched steps aside meanwhile.
 */
export class Dispatcher {
  readonly #context: ManagerContext;
  /** What waits, by client; and what has its code, after it had to be fetched, and goes first. */
  readonly #queue = new FairQueue<TaskEntry>();
  readonly #ready = new FairQueue<TaskEntry>();
  readonly #resolved = new Map<TaskEntry, ResolvedEvent>();
  readonly #resolving = new Set<TaskEntry>();
  readonly #pulling = new Set<TaskEntry>();
  /** Whose start is being written; and whose start is, while every worker is busy. */
  #starting = 0;
  readonly #started: TaskNode[] = [];
  readonly #running = new Set<TaskEntry>();
  readonly #pendingByClient = new Map<string, number>();
  #pending = 0;
  #isPumping = false;
  #draining = false;
  #closed = false;
  #cancelSlowTimer: (() => void) | null = null;
  #cancelAheadTimer: (() => void) | null = null;
  /** Whether starts are written for more tasks than there are workers. */
  #isAhead = false;
  #whenIdle: (() => void) | null = null;

  constructor(context: ManagerContext) {
    this.#context = context;
  }

  /** Tasks that no process has yet. */
  get pending(): number {
    return this.#pending;
  }

  get running(): number {
    return this.#running.size;
  }

  get isDraining(): boolean {
    return this.#draining;
  }

  pendingOf(client: string): number {
    return this.#pendingByClient.get(client) ?? 0;
  }

  /** Tasks that wait for their turn. */
  waiting(): IterableIterator<TaskEntry> {
    return this.#queue.items();
  }

  add(task: TaskEntry): void {
    this.#count(task, 1);
    this.#queue.push(task.client, task);
    this.#pump();
  }

  /** Ends a task that no process has. @returns false where one has it, or it is over */
  async cancel(task: TaskEntry, outcome: JobOutcome): Promise<boolean> {
    if (task.state !== 'waiting') return false;
    const captured = capture(this.#context, task, outcome, null);
    this.withdraw(task);
    await captured;
    return true;
  }

  /** Takes a task out of all that waits here. */
  withdraw(task: TaskEntry): void {
    if (this.#queue.delete(task) || this.#ready.delete(task)) {
      this.#count(task, -1);
      this.#resolved.get(task)?.[Symbol.dispose]();
      this.#resolved.delete(task);
    } else task.stop?.abort(new Error('the task was canceled'));
    const at = this.#started.findIndex((node) => node.task === task);
    if (at >= 0) this.#leave(this.#started.splice(at, 1)[0]!);
    this.#pump();
  }

  /** Nothing new is taken; what waits goes on unless `close` ends it. Resolves when nothing runs, or when the signal aborts. */
  async drain(signal: AbortSignal): Promise<void> {
    this.#draining = true;
    if (this.#isIdle() || signal.aborted) return;
    await new Promise<void>((done) => {
      this.#whenIdle = done;
      signal.addEventListener('abort', () => done(), { once: true });
    });
    this.#whenIdle = null;
  }

  /** Cuts short what runs. Its tasks are left as their records tell: a restart ends them or runs them again. */
  close(): void {
    this.#draining = true;
    this.#closed = true;
    this.#cancelSlowTimer?.();
    this.#cancelAheadTimer?.();
    const reason = new Error('the executor is stopping');
    for (const task of [...this.#running, ...this.#resolving, ...this.#pulling]) task.stop?.abort(reason);
    for (const { task, event } of this.#started.splice(0)) {
      this.#context.journal.append({ type: 'returned', id: task.id });
      event[Symbol.dispose]();
    }
    for (const event of this.#resolved.values()) event[Symbol.dispose]();
    this.#resolved.clear();
  }

  #isIdle(): boolean {
    return this.#running.size === 0 && this.#starting === 0 && this.#started.length === 0;
  }

  #count(task: TaskEntry, delta: 1 | -1): void {
    this.#pending += delta;
    const left = this.pendingOf(task.client) + delta;
    if (left === 0) this.#pendingByClient.delete(task.client);
    else this.#pendingByClient.set(task.client, left);
    this.#context.options.metrics.queueDepth(task.ingress, delta);
  }

  /** Brings tasks on their way as long as there are workers for them. */
  #pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    while (!this.#closed && this.#hasPlace()) {
      // Once it drains, what waits is left to the next start.
      if (this.#draining) break;
      const ready = this.#ready.shift();
      if (ready !== undefined) {
        const event = this.#resolved.get(ready)!;
        this.#resolved.delete(ready);
        void this.#begin(ready, event);
        continue;
      }
      const task = this.#queue.shift();
      if (task === undefined) break;
      void this.#resolve(task);
    }
    this.#isPumping = false;
    if (this.#draining && this.#isIdle()) this.#whenIdle?.();
  }

  #hasPlace(): boolean {
    const { workerCount } = this.#context.settings;
    const taken = this.#running.size + this.#starting + this.#started.length + this.#resolving.size;
    // Between short runs a worker would stand idle while the next start is written.
    return taken < (this.#isAhead ? workerCount * AHEAD_FACTOR : workerCount);
  }

  async #resolve(task: TaskEntry): Promise<void> {
    const stop = (task.stop = new AbortController());
    this.#resolving.add(task);
    this.#armSlowTimer();
    const resolved = isPastDeadline(this.#context, task)
      ? DEADLINE_PASSED
      : await resolve(this.#context, task, stop.signal);
    const wasQuick = this.#resolving.delete(task);
    this.#pulling.delete(task);
    if ('status' in resolved) {
      this.#count(task, -1);
      // Its caller may have ended it already.
      void capture(this.#context, task, resolved, null);
    } else if (task.state !== 'waiting' || this.#closed) {
      this.#count(task, -1);
      resolved[Symbol.dispose]();
    } else if (wasQuick && !this.#draining) void this.#begin(task, resolved);
    else {
      this.#resolved.set(task, resolved);
      this.#ready.push(task.client, task);
    }
    this.#pump();
  }

  /** One timer for all: what still resolves when it fires steps aside. */
  #armSlowTimer(): void {
    this.#cancelSlowTimer ??= this.#context.options.clock.after(SLOW_RESOLUTION_MS, () => {
      this.#cancelSlowTimer = null;
      for (const task of this.#resolving) this.#pulling.add(task);
      this.#resolving.clear();
      this.#pump();
    });
  }

  /** Writes the start down, and runs the task when a worker is free. */
  async #begin(task: TaskEntry, event: ResolvedEvent): Promise<void> {
    this.#starting += 1;
    const { bytes, journal } = this.#context;
    let node: TaskNode | JobOutcome;
    try {
      const args = bytes.read(task.args);
      node = instantiate(this.#context, task, event, args instanceof Promise ? await args : args);
    } catch (error) {
      this.#context.options.log.error({ err: error, correlation_id: task.id }, 'a task cannot be started');
      node = { status: 'error', code: 'INTERNAL', message: '' };
    }
    if (!('status' in node) && task.state === 'waiting') {
      const repeat = event.definition.idempotent;
      task.mayRepeat = repeat;
      task.starts += 1;
      await journal.append({ type: 'started', id: task.id, ...(repeat ? { repeat } : {}) }).durable;
    }
    this.#starting -= 1;
    if ('status' in node) {
      void capture(this.#context, task, node, null);
      this.#count(task, -1);
      event[Symbol.dispose]();
    } else if (!isWaiting(task) || this.#closed) this.#leave(node);
    else if (this.#running.size < this.#context.settings.workerCount) void this.#run(node);
    else {
      this.#started.push(node);
      this.#armAheadTimer();
    }
    this.#pump();
  }

  /** What is killed while a start is written but not made would count as lost: it must not wait so behind a long run. */
  #armAheadTimer(): void {
    this.#cancelAheadTimer ??= this.#context.options.clock.after(AHEAD_MS, () => {
      this.#cancelAheadTimer = null;
      if (this.#started.length === 0 || this.#draining) return;
      this.#isAhead = false;
      for (const { task, event } of this.#started.splice(0)) {
        task.starts -= 1;
        this.#context.journal.append({ type: 'returned', id: task.id });
        this.#resolved.set(task, event);
        this.#ready.push(task.client, task);
      }
    });
  }

  /** The node will not run. */
  #leave({ task, event }: TaskNode): void {
    this.#count(task, -1);
    event[Symbol.dispose]();
  }

  async #run(node: TaskNode): Promise<void> {
    const { task, event, tier, id } = node;
    const { metrics } = this.#context.options;
    task.state = 'running';
    const stop = (task.stop = new AbortController());
    this.#count(task, -1);
    this.#running.add(task);
    metrics.busyWorkers(this.#running.size);
    const outcome = await execute(this.#context, node, stop.signal);
    this.#running.delete(task);
    metrics.busyWorkers(this.#running.size);
    event[Symbol.dispose]();
    if (this.#closed) return;
    this.#isAhead = this.#context.throughput.isFast;
    void capture(this.#context, task, outcome, { nodeId: id, tier: tier.tier });
    const next = this.#started.shift();
    if (next !== undefined) void this.#run(next);
    this.#pump();
  }
}

const DEADLINE_PASSED: JobOutcome = {
  status: 'error',
  code: 'TASK_TIMEOUT',
  message: 'The deadline of the task passed before it was started',
};

export function isPastDeadline({ options }: ManagerContext, { accepted }: TaskEntry): boolean {
  return accepted.deadline_ms !== undefined && options.clock.now() > accepted.deadline_ms;
}

/** Asked through a function because the compiler holds the state for settled across the wait. */
function isWaiting({ state }: TaskEntry): boolean {
  return state === 'waiting';
}

/** Ends what waits though its deadline has passed. */
export function endPastDeadline(context: ManagerContext, dispatcher: Dispatcher): void {
  const late = [...dispatcher.waiting()].filter((task) => isPastDeadline(context, task));
  for (const task of late) void dispatcher.cancel(task, DEADLINE_PASSED);
}
