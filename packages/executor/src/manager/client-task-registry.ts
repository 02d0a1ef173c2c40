import type { Clock } from '@heddle/base/clock';
import { RemoteFailure } from '../protocol/codes.ts';
import type { RecentTask } from '../protocol/messages.ts';
import type { TaskEntry } from './task-entry.ts';

/** Tasks per client listed by `status`. */
const RECENT_MAX = 50;
/** Limit of remembered clients without stored tasks. */
const CLIENTS_MAX = 10_000;
/** Time since the last submission for which a client counts as sharing the queue. */
const ACTIVE_MS = 60_000;

interface ClientTasks {
  readonly byKey: Map<string, TaskEntry>;
  /** Oldest first. */
  readonly recent: TaskEntry[];
  tasks: number;
  journalBytes: number;
  /** Monotonic time of the last submission. */
  submittedAt: number;
}

/** All stored tasks, by correlation id and by client. */
export class ClientTaskRegistry {
  readonly #clock: Clock;
  readonly #byId = new Map<string, TaskEntry>();
  readonly #clients = new Map<string, ClientTasks>();
  /** Completed and acknowledged tasks, each in order of that event. */
  readonly #completed = new Set<TaskEntry>();
  readonly #acknowledged = new Set<TaskEntry>();
  /** Number of clients with recent submissions. */
  #active = 0;
  #journalBytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Approximate journal size of the stored tasks, bytes. */
  get journalBytes(): number {
    return this.#journalBytes;
  }

  all(): IterableIterator<TaskEntry> {
    return this.#byId.values();
  }

  /** Returns the client's task unless its outcome was acknowledged. @throws RemoteFailure NOT_FOUND */
  own(client: string, id: string): TaskEntry {
    const task = this.find(client, id);
    // Foreign and missing tasks are indistinguishable, so that ids cannot be probed.
    if (task === undefined || task.state === 'acknowledged') throw new RemoteFailure('NOT_FOUND');
    return task;
  }

  /** Returns the task if it belongs to the client. */
  find(client: string, id: string): TaskEntry | undefined {
    const task = this.#byId.get(id);
    return task?.client === client ? task : undefined;
  }

  byKey(client: string, key: string): TaskEntry | undefined {
    return this.#clients.get(client)?.byKey.get(key);
  }

  add(task: TaskEntry): void {
    const client = this.#clientOf(task.client);
    this.#byId.set(task.id, task);
    if (task.accepted.key !== undefined) client.byKey.set(task.accepted.key, task);
    client.tasks += 1;
    this.#countBytes(task, task.journalBytes);
    client.recent.push(task);
    if (client.recent.length > RECENT_MAX) client.recent.shift();
  }

  noteCompleted(task: TaskEntry): void {
    this.#completed.add(task);
    this.#countBytes(task, task.journalBytes);
  }

  noteAcknowledged(task: TaskEntry): void {
    this.#completed.delete(task);
    this.#acknowledged.add(task);
    this.#countBytes(task, task.journalBytes);
  }

  remove(task: TaskEntry): void {
    if (!this.#byId.delete(task.id)) return;
    this.#completed.delete(task);
    this.#acknowledged.delete(task);
    const client = this.#clientOf(task.client);
    client.tasks -= 1;
    this.#countBytes(task, 0);
    const { key } = task.accepted;
    if (key !== undefined && client.byKey.get(key) === task) client.byKey.delete(key);
    // The task was rejected after all.
    if (task.outcome === null) client.recent.splice(client.recent.lastIndexOf(task), 1);
  }

  /** Yields tasks past their retention, oldest first. */
  *expired(nowMs: number): Generator<TaskEntry> {
    for (const tasks of [this.#acknowledged, this.#completed]) {
      for (const task of tasks) {
        if (task.expiresAtMs > nowMs) break;
        yield task;
      }
    }
  }

  /**
   * Returns the best task to evict: the oldest acknowledged one, else the oldest delivered one; undefined if there is
   * none.
   */
  evictionCandidate(): TaskEntry | undefined {
    for (const task of this.#acknowledged) return task;
    for (const task of this.#completed) {
      if (task.delivered) return task;
    }
    return undefined;
  }

  /** Records a submission and returns the number of active clients. */
  noteActive(name: string): number {
    const now = this.#clock.monotonic();
    const client = this.#clientOf(name);
    if (now - client.submittedAt >= ACTIVE_MS) this.#active += 1;
    client.submittedAt = now;
    return this.#active;
  }

  /** Recounts active clients; called periodically rather than per submission. */
  recountActive(): void {
    const now = this.#clock.monotonic();
    this.#active = 0;
    for (const { submittedAt } of this.#clients.values()) {
      if (now - submittedAt < ACTIVE_MS) this.#active += 1;
    }
  }

  usageOf(client: string): { readonly tasks: number; readonly journalBytes: number } {
    return this.#clients.get(client) ?? { tasks: 0, journalBytes: 0 };
  }

  /** Newest first. */
  recentOf(client: string): RecentTask[] {
    return (this.#clients.get(client)?.recent ?? []).map(recentTask).reverse();
  }

  #countBytes(task: TaskEntry, bytes: number): void {
    const grown = bytes - task.countedBytes;
    task.countedBytes = bytes;
    this.#clientOf(task.client).journalBytes += grown;
    this.#journalBytes += grown;
  }

  #clientOf(name: string): ClientTasks {
    let client = this.#clients.get(name);
    if (client === undefined) {
      if (this.#clients.size >= CLIENTS_MAX) this.#forgetIdleClient();
      const submittedAt = Number.NEGATIVE_INFINITY;
      client = { byKey: new Map(), recent: [], tasks: 0, journalBytes: 0, submittedAt };
      this.#clients.set(name, client);
    }
    return client;
  }

  #forgetIdleClient(): void {
    for (const [name, { tasks }] of this.#clients) {
      if (tasks > 0) continue;
      this.#clients.delete(name);
      return;
    }
  }
}

function recentTask(task: TaskEntry): RecentTask {
  const { id, accepted, outcome, duration_ms } = task;
  const base = {
    correlation_id: id,
    event_name: accepted.event_name,
    created_at: new Date(accepted.created_at_ms).toISOString(),
  };
  if (outcome === null) return { ...base, status: task.state === 'running' ? 'running' : 'pending' };
  return {
    ...base,
    status: outcome.code === null ? 'success' : 'error',
    ...(outcome.code === null ? {} : { code: outcome.code }),
    ...(duration_ms === null ? {} : { duration_ms: Math.round(duration_ms * 100) / 100 }),
  };
}
