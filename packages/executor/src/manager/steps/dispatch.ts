import type { ResolvedEvent } from '../../events/port.ts';
import type { JobOutcome } from '../../execution/port.ts';
import type { ManagerContext } from '../context.ts';
import { FairQueue } from '../fair-queue.ts';
import type { TaskEntry } from '../task-entry.ts';
import { capture } from './capture.ts';
import { execute } from './execute.ts';
import { instantiate, type TaskNode } from './instantiate.ts';
import { resolve } from './resolve.ts';

/** Time after which a resolution counts as a pull and gives up its worker slot to another task. */
const SLOW_RESOLUTION_MS = 10;
/** How long a recorded start may wait for a free worker before it is withdrawn. */
const AHEAD_MS_MAX = 50;
/** Starts recorded ahead while tasks are short, as a multiple of the workers. */
const AHEAD_FACTOR = 4;

/**
 * Step 7: moves tasks to workers. They wait in a fair queue, are resolved when a worker is about to be free, have their
 * start recorded, and run. A task whose code must be fetched lets others pass.
 */
export class Dispatcher {
  readonly #context: ManagerContext;
  /** Waiting tasks by client, and tasks whose code has been fetched, which go first. */
  readonly #queue = new FairQueue<TaskEntry>();
  readonly #ready = new FairQueue<TaskEntry>();
  readonly #resolved = new Map<TaskEntry, ResolvedEvent>();
  readonly #resolving = new Set<TaskEntry>();
  readonly #pulling = new Set<TaskEntry>();
  /** Number of starts being recorded, and tasks whose start is recorded while all workers are busy. */
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
  /** Whether starts are recorded for more tasks than there are workers. */
  #isAhead = false;
  #whenIdle: (() => void) | null = null;

  constructor(context: ManagerContext) {
    this.#context = context;
  }

  /** Number of tasks not yet running. */
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

  /** Iterates over the queued tasks. */
  waiting(): IterableIterator<TaskEntry> {
    return this.#queue.items();
  }

  add(task: TaskEntry): void {
    this.#count(task, 1);
    this.#queue.push(task.client, task);
    this.#pump();
  }

  /** Ends a task that is not running yet. @returns false if it is running or has ended */
  async cancel(task: TaskEntry, outcome: JobOutcome): Promise<boolean> {
    if (task.state !== 'waiting') return false;
    const captured = capture(this.#context, task, outcome, null);
    this.withdraw(task);
    await captured;
    return true;
  }

  /** Removes a task from all queues. */
  withdraw(task: TaskEntry): void {
    if (this.#queue.delete(task) || this.#ready.delete(task)) {
      this.#count(task, -1);
      this.#resolved.get(task)?.[Symbol.dispose]();
      this.#resolved.delete(task);
    } else task.stop?.abort(new Error('the task was canceled'));
    const at = this.#started.findIndex((node) => node.task === task);
    if (at >= 0) this.#release(this.#started.splice(at, 1)[0]!);
    this.#pump();
  }

  /** Stops starting tasks; waiting ones stay until `close`. Resolves when nothing is running, or on abort. */
  async drain(signal: AbortSignal): Promise<void> {
    this.#draining = true;
    if (this.#isIdle() || signal.aborted) return;
    await new Promise<void>((done) => {
      this.#whenIdle = done;
      signal.addEventListener('abort', () => done(), { once: true });
    });
    this.#whenIdle = null;
  }

  /** Interrupts running tasks and keeps their records: a restart fails them or runs them again. */
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

  /** Advances tasks while workers are available. */
  #pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    while (!this.#closed && this.#hasPlace()) {
      // While draining, waiting tasks are left for the next start.
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
    // Otherwise a worker would be idle between short runs while the next start is recorded.
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
      // Its caller may already have canceled it.
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

  /** Uses one timer for all: whatever is still resolving when it fires gives up its slot. */
  #armSlowTimer(): void {
    this.#cancelSlowTimer ??= this.#context.options.clock.after(SLOW_RESOLUTION_MS, () => {
      this.#cancelSlowTimer = null;
      for (const task of this.#resolving) this.#pulling.add(task);
      this.#resolving.clear();
      this.#pump();
    });
  }

  /** Records the start, and runs the task when a worker is free. */
  async #begin(task: TaskEntry, event: ResolvedEvent): Promise<void> {
    this.#starting += 1;
    const { bytes, journal } = this.#context;
    let node: TaskNode | JobOutcome;
    try {
      const args = bytes.read(task.args);
      node = instantiate(this.#context, task, event, args instanceof Promise ? await args : args);
    } catch (error) {
      this.#context.options.log.error({ err: error, correlation_id: task.id }, 'could not start a task');
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
    } else if (!isWaiting(task) || this.#closed) this.#release(node);
    else if (this.#running.size < this.#context.settings.workerCount) void this.#run(node);
    else {
      this.#started.push(node);
      this.#armAheadTimer();
    }
    this.#pump();
  }

  /** Withdraws starts that wait behind a long run, because a crash would count such tasks as lost. */
  #armAheadTimer(): void {
    this.#cancelAheadTimer ??= this.#context.options.clock.after(AHEAD_MS_MAX, () => {
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

  /** Releases a node that will not run. */
  #release({ task, event }: TaskNode): void {
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

function isPastDeadline({ options }: ManagerContext, { accepted }: TaskEntry): boolean {
  return accepted.deadline_ms !== undefined && options.clock.now() > accepted.deadline_ms;
}

/** A function, because the compiler assumes that the state is unchanged across the await. */
function isWaiting({ state }: TaskEntry): boolean {
  return state === 'waiting';
}

/** Ends waiting tasks whose deadline has passed. */
export function endPastDeadline(context: ManagerContext, dispatcher: Dispatcher): void {
  const late = [...dispatcher.waiting()].filter((task) => isPastDeadline(context, task));
  for (const task of late) void dispatcher.cancel(task, DEADLINE_PASSED);
}
