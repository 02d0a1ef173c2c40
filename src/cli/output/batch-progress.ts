import { isEnded, STATUSES, type Status, type StatusCounts } from './status.ts';
import type { BasicTask, Batch, BatchEvent } from './wire.ts';

/** A task's step from one status to another, as the stream told it. */
export interface Transition {
  task: BasicTask;
  /** Null where the task was told for the first time. */
  from: Status | null;
}

/** What is known of a batch that is being followed. */
export class BatchProgress {
  batch: Batch;
  readonly tasks = new Map<string, BasicTask>();
  readonly #counts = new Map<Status, number>();
  readonly #underWay = new Map<string, BasicTask>();
  #running: BasicTask[] | null = null;

  constructor(batch: Batch) {
    this.batch = batch;
  }

  /** Takes one event in; returns the tasks whose status or attempt changed. */
  apply({ batch, tasks }: BatchEvent): Transition[] {
    this.batch = batch;
    const transitions: Transition[] = [];
    this.#running = null;
    for (const task of tasks) {
      const before = this.tasks.get(task.id);
      this.tasks.set(task.id, task);
      if (before !== undefined) this.#add(before.status, -1);
      this.#add(task.status, 1);
      if (task.status === 'Running' || task.status === 'Claimed') this.#underWay.set(task.id, task);
      else this.#underWay.delete(task.id);
      if (before?.status !== task.status || before.attempt !== task.attempt) {
        transitions.push({ task, from: before?.status ?? null });
      }
    }
    return transitions;
  }

  #add(status: Status, difference: number): void {
    this.#counts.set(status, (this.#counts.get(status) ?? 0) + difference);
  }

  get counts(): StatusCounts {
    return Object.fromEntries(
      STATUSES.flatMap((status) => {
        const number = this.#counts.get(status) ?? 0;
        return number > 0 ? [[status, number] as const] : [];
      }),
    );
  }

  get total(): number {
    return this.batch.task_count;
  }

  get ended(): number {
    return this.total - this.batch.remaining;
  }

  /** Tasks under way, the longest running first. Sorted once an event: a display asks several times a second. */
  get running(): readonly BasicTask[] {
    this.#running ??= [...this.#underWay.values()].sort(
      (a, b) => (a.started_at ?? '~').localeCompare(b.started_at ?? '~') || a.id.localeCompare(b.id),
    );
    return this.#running;
  }

  /** Tasks that ended otherwise than by success. */
  get unsuccessful(): BasicTask[] {
    return [...this.tasks.values()].filter(({ status }) => isEnded(status) && status !== 'Success');
  }

  get succeeded(): boolean {
    return this.batch.remaining === 0 && (this.#counts.get('Success') ?? 0) === this.total;
  }

  /** Milliseconds from the submission to its end, or to `nowMs`. */
  elapsedMs(nowMs: number): number {
    const { created_at, ended_at } = this.batch;
    return Math.max(0, (ended_at === null ? nowMs : Date.parse(ended_at)) - Date.parse(created_at));
  }
}
