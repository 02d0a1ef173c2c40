/**
 * A stand-in for the engine, for tests of what HTTP does before and after it: it keeps submissions and returns canned
 * results. It has no propagation, rules or deduplication; api.test.ts runs against the real engine.
 */
import { HeddleError } from '@heddle/base/errors';
import { isTerminal, type TaskState } from '@heddle/base/vocabulary/task-state';
import { mergePatch, type JsonObject } from '@heddle/base/json';
import type { TaskDetail, WorkflowSummary } from '@heddle/base/vocabulary/task';
import type {
  Dag,
  DagChanges,
  Engine,
  Submission,
  SubmitResult,
  TaskUpdate,
  TransitionOutcome,
} from '@heddle/core/engine/port';

const CREATED_AT = 1_767_225_600_000;

export class EngineStub {
  readonly tasks = new Map<string, TaskDetail>();
  readonly workflows = new Map<string, WorkflowSummary>();
  readonly submissions: Submission[] = [];
  readonly flushes: number[] = [];
  readonly listeners = new Map<string, Set<() => void>>();
  /** Thrown by every call while set. */
  failure: Error | null = null;
  #keys = new Map<string, { hash: string; result: SubmitResult }>();
  #changes = 0;
  #changedAt = new Map<string, number>();

  get engine(): Engine {
    return this as unknown as Engine;
  }

  /** Every kind has a worker. */
  unknownKinds(): Promise<[]> {
    return Promise.resolve([]);
  }

  submit(submissions: readonly Submission[]): Promise<SubmitResult[]> {
    return this.#work(() => {
      this.flushes.push(submissions.length);
      const known = submissions.map(({ idempotency }) => idempotency && this.#keys.get(idempotency.key));
      if (known.some((entry, at) => entry && entry.hash !== submissions[at]!.idempotency!.body_hash)) {
        throw new HeddleError('IDEMPOTENCY_MISMATCH');
      }
      return submissions.map((submission, at) =>
        known[at] ? { ...known[at].result, replayed: true } : this.#store(submission),
      );
    });
  }

  #store(submission: Submission): SubmitResult {
    this.submissions.push(submission);
    this.workflows.set(submission.workflow_id, {
      id: submission.workflow_id,
      name: submission.name,
      task_count: submission.tasks.length,
      remaining: submission.tasks.length,
      created_at: CREATED_AT,
      ended_at: null,
      archived: false,
      root_state: null,
      paused: false,
    });
    const tasks = submission.tasks.map((task) => {
      const state: TaskState = task.dependencies.length > 0 ? 'waiting' : 'pending';
      this.tasks.set(task.id, {
        ...task,
        workflow_id: submission.workflow_id,
        state,
        attempt: 1,
        success_count: 0,
        failure_count: 0,
        open_gates: task.dependencies.length,
        failure_reason: null,
        created_at: CREATED_AT,
        started_at: null,
        ended_at: null,
        updated_at: CREATED_AT,
        run_at: null,
        deadline_at: null,
        archived: false,
      });
      return { id: task.id, local_id: task.local_id, state, deduplicated_to: null };
    });
    const result = { workflow_id: submission.workflow_id, created_at: CREATED_AT, tasks, replayed: false };
    if (submission.idempotency) {
      this.#keys.set(submission.idempotency.key, { hash: submission.idempotency.body_hash, result });
    }
    return result;
  }

  /** Changes the state of a task and notifies its batch. */
  set(id: string, change: Partial<TaskDetail>): void {
    const task = this.tasks.get(id)!;
    const ended = change.state !== undefined && isTerminal(change.state) && !isTerminal(task.state);
    Object.assign(task, change);
    this.#changedAt.set(id, ++this.#changes);
    const workflow = this.workflows.get(task.workflow_id)!;
    if (ended) workflow.remaining -= 1;
    for (const wake of this.listeners.get(task.workflow_id) ?? []) wake();
  }

  update = (updates: readonly TaskUpdate[]): Promise<TransitionOutcome[]> =>
    this.#each(updates, (task, update) => {
      if (isTerminal(task.state)) return 'conflict';
      if (update.metadata_patch) task.metadata = mergePatch(task.metadata, update.metadata_patch) as JsonObject;
      task.success_count += update.new_success ?? 0;
      task.failure_count += update.new_failures ?? 0;
      return 'applied';
    });

  report: Engine['report'] = (reports) =>
    this.#each(reports, (task, report) => {
      if (report.attempt !== null && report.attempt !== task.attempt) return 'stale_attempt';
      if (isTerminal(task.state)) return task.state === report.outcome ? 'unchanged' : 'conflict';
      if (task.state === 'waiting' || task.state === 'pending') return 'not_started';
      this.set(task.id, { state: report.outcome, ended_at: CREATED_AT, failure_reason: report.reason ?? null });
      return 'applied';
    });

  progress: Engine['progress'] = (reports) =>
    this.#work(() => {
      this.flushes.push(reports.length);
      return reports.map(({ task_id, attempt, new_success, new_failures }) => {
        const task = this.tasks.get(task_id);
        if (!task) return 'not_found' as const;
        if (attempt !== null && attempt !== task.attempt) return 'stale_attempt' as const;
        if (isTerminal(task.state)) return 'terminal' as const;
        task.success_count += new_success;
        task.failure_count += new_failures;
        return 'applied' as const;
      });
    });

  cancel: Engine['cancel'] = (ids) =>
    this.#each(
      ids.map((task_id) => ({ task_id })),
      (task) => {
        if (isTerminal(task.state)) return 'conflict';
        this.set(task.id, { state: 'canceled', ended_at: CREATED_AT });
        return 'applied';
      },
    );

  pause: Engine['pause'] = (ids) => this.#move(ids, 'paused');
  resume: Engine['resume'] = (ids) => this.#move(ids, 'pending');
  retry: Engine['retry'] = (ids) => this.#move(ids, 'pending');

  #move(ids: readonly string[], state: TaskState): Promise<TransitionOutcome[]> {
    return this.#each(
      ids.map((task_id) => ({ task_id })),
      (task) => {
        this.set(task.id, { state });
        return 'applied';
      },
    );
  }

  getTask: Engine['getTask'] = (id) => this.#work(() => this.tasks.get(id) ?? null);
  listTasks: Engine['listTasks'] = () => this.#work(() => ({ tasks: [...this.tasks.values()], next: null }));
  getWorkflow: Engine['getWorkflow'] = (id) => this.#work(() => this.workflows.get(id) ?? null);
  countStates: Engine['countStates'] = (id) =>
    this.#work(() => {
      const counts: Partial<Record<TaskState, number>> = {};
      for (const { state } of this.#tasksOf(id)) counts[state] = (counts[state] ?? 0) + 1;
      return counts;
    });
  listWorkflows: Engine['listWorkflows'] = () =>
    this.#work(() => ({ workflows: [...this.workflows.values()], next: null }));
  cancelWorkflow: Engine['cancelWorkflow'] = (id) => this.#work(() => (this.workflows.has(id) ? 0 : null));
  listDeliveries: Engine['listDeliveries'] = () => this.#work(() => []);
  replayDeliveries: Engine['replayDeliveries'] = () => this.#work(() => 0);
  explain: Engine['explain'] = () => this.#work(() => null);

  getDag = (id: string): Promise<Dag | null> =>
    this.#work(() => {
      const workflow = this.workflows.get(id);
      return workflow ? { workflow, tasks: this.#tasksOf(id), dependencies: [] } : null;
    });

  dagChanges = (id: string, cursor: number): Promise<DagChanges | null> =>
    this.#work(() => {
      const workflow = this.workflows.get(id);
      if (!workflow) return null;
      const tasks = this.#tasksOf(id).filter(
        (task) => cursor === 0 || (this.#changedAt.get(task.id) ?? 0) > cursor - 1,
      );
      return { workflow, tasks, cursor: this.#changes + 1 };
    });

  onWorkflowChange = (id: string, wake: () => void): (() => void) => {
    const set = this.listeners.get(id) ?? new Set();
    this.listeners.set(id, set.add(wake));
    return () => void set.delete(wake);
  };

  #tasksOf(id: string): TaskDetail[] {
    return [...this.tasks.values()].filter((task) => task.workflow_id === id);
  }

  #each<Item extends { task_id: string }>(
    items: readonly Item[],
    apply: (task: TaskDetail, item: Item) => TransitionOutcome['result'],
  ): Promise<TransitionOutcome[]> {
    return this.#work(() =>
      items.map((item) => {
        const task = this.tasks.get(item.task_id);
        if (!task) return { task_id: item.task_id, result: 'not_found', state: null };
        return { task_id: task.id, result: apply(task, item), state: task.state };
      }),
    );
  }

  #work<Result>(run: () => Result): Promise<Result> {
    return new Promise((resolve) => {
      if (this.failure) throw this.failure;
      resolve(run());
    });
  }
}
