import { BATCH_WORDS, type StatusCounts, type Vocabulary } from './status.ts';
import type { BasicTask, Batch } from './wire.ts';

/** What a display needs of a batch or a workflow. */
export type Followed = Pick<Batch, 'id' | 'name' | 'task_count' | 'remaining' | 'created_at' | 'ended_at'>;

/** What a display needs of a task, for either set of state names. */
export type FollowedTask = { status: string } & Pick<
  BasicTask,
  'id' | 'name' | 'attempt' | 'success' | 'failures' | 'expected_count' | 'started_at' | 'failure_reason'
>;

/** A task's step from one status to another, as reported by the stream. */
export interface Transition {
  task: FollowedTask;
  /** Null if the task was reported for the first time. */
  from: string | null;
}

/** The known state of a batch or workflow that is being followed. */
export class BatchProgress {
  batch: Followed;
  readonly words: Vocabulary;
  readonly tasks = new Map<string, FollowedTask>();
  readonly #counts = new Map<string, number>();
  readonly #underWay = new Map<string, FollowedTask>();
  #running: FollowedTask[] | null = null;

  constructor(batch: Followed, words: Vocabulary = BATCH_WORDS) {
    this.batch = batch;
    this.words = words;
  }

  /** Applies one event; returns the tasks whose status or attempt changed. */
  apply({ batch, tasks }: { batch: Followed; tasks: readonly FollowedTask[] }): Transition[] {
    this.batch = batch;
    const transitions: Transition[] = [];
    this.#running = null;
    for (const task of tasks) {
      const before = this.tasks.get(task.id);
      this.tasks.set(task.id, task);
      if (before !== undefined) this.#add(before.status, -1);
      this.#add(task.status, 1);
      if (this.words.underWay.has(task.status)) this.#underWay.set(task.id, task);
      else this.#underWay.delete(task.id);
      if (before?.status !== task.status || before.attempt !== task.attempt) {
        transitions.push({ task, from: before?.status ?? null });
      }
    }
    return transitions;
  }

  #add(status: string, difference: number): void {
    this.#counts.set(status, (this.#counts.get(status) ?? 0) + difference);
  }

  get counts(): StatusCounts {
    return Object.fromEntries(
      Object.keys(this.words.looks).flatMap((status) => {
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

  /** Running tasks, the longest running first. Sorted once per event: a display reads them several times a second. */
  get running(): readonly FollowedTask[] {
    this.#running ??= [...this.#underWay.values()].sort(
      (a, b) => (a.started_at ?? '~').localeCompare(b.started_at ?? '~') || a.id.localeCompare(b.id),
    );
    return this.#running;
  }

  /** Tasks that ended unsuccessfully. */
  get unsuccessful(): FollowedTask[] {
    return [...this.tasks.values()].filter(
      ({ status }) => this.words.ended.has(status) && status !== this.words.success,
    );
  }

  get succeeded(): boolean {
    return this.batch.remaining === 0 && (this.#counts.get(this.words.success) ?? 0) === this.total;
  }

  /** Milliseconds from the submission to its completion, or to `nowMs`. */
  elapsedMs(nowMs: number): number {
    const { created_at, ended_at } = this.batch;
    return Math.max(0, (ended_at === null ? nowMs : Date.parse(ended_at)) - Date.parse(created_at));
  }
}
