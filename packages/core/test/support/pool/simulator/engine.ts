import type { Requirements } from '@heddle/base/vocabulary/requirements';
import type { NewRequest, Orders, RunnerStore } from '../../../../src/pool/port/store.ts';
import type { TaskStates } from '@heddle/test-support/pool/memory-store/memory-store';
import { derivedId } from '@heddle/base/derived-id';
import type { Chronicle } from './chronicle.ts';

interface Task {
  readonly id: string;
  readonly tenant: string;
  readonly count: number;
  requirements: Requirements;
  attempt: number;
  state: 'waiting' | 'running' | 'ended';
  /** The runner that executes the attempt, and its claim. */
  runner: { readonly id: string; readonly epoch: number } | null;
}

/** A minimal engine: tasks that need runners, each attempt of which starts once. */
export class Engine implements TaskStates {
  readonly #tasks = new Map<string, Task>();
  readonly #store: RunnerStore;
  readonly #chronicle: Chronicle;

  /** @param store without faults: a transaction of the engine is one of the store */
  constructor(store: RunnerStore, chronicle: Chronicle) {
    this.#store = store;
    this.#chronicle = chronicle;
  }

  get open(): number {
    return [...this.#tasks.values()].filter(({ state }) => state !== 'ended').length;
  }

  submit(id: string, tenant: string, requirements: Requirements, count: number): void {
    this.#tasks.set(id, { id, tenant, requirements, count, attempt: 1, state: 'waiting', runner: null });
  }

  hasStarted({ run, attempt }: NewRequest): boolean {
    const task = this.#tasks.get(run);
    return task !== undefined && (task.attempt > attempt! || (task.attempt === attempt && task.state !== 'waiting'));
  }

  hasEnded({ run, attempt }: NewRequest): boolean {
    const task = this.#tasks.get(run);
    return task === undefined || task.state === 'ended' || task.attempt > attempt!;
  }

  /** Requests runners for tasks, and requeues tasks that lost theirs. */
  async tick(): Promise<void> {
    for (const task of this.#tasks.values()) {
      if (task.state === 'running' && (await this.#isLost(task))) this.#handBack(task);
    }
    const waiting = [...this.#tasks.values()].filter(({ state }) => state === 'waiting');
    if (waiting.length > 0) await this.#store.ask(waiting.map(requestOf));
  }

  /** Whether this runner may run the task now: the task is in its lane and has not started. */
  async start({ runner_id, epoch, request_id, task_id }: Orders): Promise<boolean> {
    const task = this.#tasks.get(task_id ?? '');
    if (task?.state !== 'waiting' || requestOf(task).id !== request_id)
      return this.#refuse(task, runner_id, request_id);
    const request = await this.#store.request(request_id);
    const first = request?.runners.toSorted((one, other) => one.number - other.number)[0];
    if (first?.id !== runner_id || first.epoch !== epoch) return false;
    task.state = 'running';
    task.runner = { id: runner_id, epoch };
    this.#chronicle.note(`task ${task.id} started by ${runner_id}`);
    return true;
  }

  finish(taskId: string, runnerId: string, epoch: number): void {
    const task = this.#tasks.get(taskId);
    if (task?.runner?.id !== runnerId || task.runner.epoch !== epoch) return;
    task.state = 'ended';
    this.#chronicle.note(`task ${task.id} done by ${runnerId}`);
  }

  /** Handles an interruption: the next attempt uses on-demand runners. Returns false if the runner has no task. */
  interrupt(runnerId: string): boolean {
    const task = [...this.#tasks.values()].find(({ state, runner }) => state === 'running' && runner?.id === runnerId);
    if (task === undefined) return false;
    task.requirements = { ...task.requirements, usage_class: 'on-demand' };
    this.#handBack(task);
    return true;
  }

  #refuse(task: Task | undefined, runner: string, request: string | null): false {
    const isSame = task?.state === 'running' && requestOf(task).id === request;
    if (isSame && task.runner?.id !== runner)
      throw this.#chronicle.violation(`task ${task.id} was also started by ${runner}`);
    return false;
  }

  #handBack(task: Task): void {
    this.#chronicle.note(`task ${task.id} handed back`);
    task.attempt += 1;
    task.state = 'waiting';
    task.runner = null;
  }

  async #isLost({ runner }: Task): Promise<boolean> {
    const [row] = await this.#store.list({ ids: [runner!.id] }, { offset: 0, limit: 1 });
    return row === undefined || row.state === 'terminated' || row.epoch !== runner!.epoch;
  }
}

function requestOf({ id, tenant, requirements, count, attempt }: Task): NewRequest {
  const requestId = derivedId(id, { ordinal: attempt });
  return { ...requirements, id: requestId, tenant, count, source: 'task', run: id, attempt, expires_at: null };
}
