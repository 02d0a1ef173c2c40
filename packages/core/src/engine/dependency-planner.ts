import type { NewTask } from '@heddle/base/vocabulary/task';
import { policyOf, tolerates } from '@heddle/base/vocabulary/completion-policy';
import { isTerminal, TASK_STATE_CODE, taskStateOf } from '@heddle/base/vocabulary/task-state';
import type { EdgeRow, ParentRow } from '../store/submissions.ts';
import type { Submission } from './port.ts';
import type { Fate } from './submission-rows.ts';

interface Parent {
  id: string;
  requires_success: boolean;
  /** Index within the submission, if the parent is created by it. */
  index: number | null;
}

/** Computes the gates and early ends of new tasks whose parents may be stored tasks, ended ones included. */
export class DependencyPlanner {
  readonly #tasks: readonly NewTask[];
  readonly #parents: Parent[][];
  readonly #fates = new Map<number, Fate>();
  #stored = new Map<string, ParentRow>();

  constructor(submission: Submission, duplicates: readonly (string | null)[]) {
    this.#tasks = submission.tasks;
    const indexOf = new Map(submission.tasks.map((task, index) => [task.id, index]));
    this.#parents = submission.tasks.map((task) => {
      const parents = new Map<string, Parent>();
      for (const dependency of task.dependencies) {
        const id =
          'index' in dependency
            ? (duplicates[dependency.index] ?? submission.tasks[dependency.index]!.id)
            : dependency.task_id;
        const known = parents.get(id);
        const requires = (known?.requires_success ?? false) || dependency.requires_success;
        parents.set(id, { id, requires_success: requires, index: indexOf.get(id) ?? null });
      }
      return [...parents.values()];
    });
  }

  storedParents(): string[] {
    return [...new Set(this.#parents.flat().flatMap((parent) => (parent.index === null ? [parent.id] : [])))];
  }

  learn(stored: Map<string, ParentRow>): void {
    this.#stored = stored;
  }

  hasEdges(): boolean {
    return this.#parents.some((parents) => parents.length > 0);
  }

  edgesOf(index: number): EdgeRow[] {
    return this.#parents[index]!.map((parent) => {
      const edge = {
        parent_id: parent.id,
        child_id: this.#tasks[index]!.id,
        requires_success: parent.requires_success,
      };
      if (parent.index !== null) return edge;
      return { ...edge, crosses: true, relayed: this.#isOver(parent.id) };
    });
  }

  /** Visits parents first, with an explicit stack, since a chain may be deeper than the call stack. */
  fateOf(index: number, linked: boolean): Fate {
    const stack = [index];
    while (stack.length > 0) {
      const at = stack.at(-1)!;
      const open = this.#parents[at]!.filter((parent) => parent.index !== null && !this.#fates.has(parent.index));
      if (open.length > 0) {
        for (const parent of open) stack.push(parent.index!);
        continue;
      }
      stack.pop();
      if (!this.#fates.has(at)) this.#fates.set(at, this.#decide(at, linked));
    }
    return this.#fates.get(index)!;
  }

  #decide(index: number, linked: boolean): Fate {
    let openGates = 0;
    for (const parent of this.#parents[index]!) {
      const failure = this.#failureOf(parent);
      if (failure !== null && parent.requires_success) {
        return { open_gates: this.#openGates(index), linked, ended: { state: TASK_STATE_CODE.failed, ...failure } };
      }
      if (this.#isOpen(parent)) openGates += 1;
    }
    return { open_gates: openGates, linked };
  }

  #openGates(index: number): number {
    return this.#parents[index]!.filter((parent) => this.#isOpen(parent)).length;
  }

  #isOpen(parent: Parent): boolean {
    if (parent.index !== null) return this.#fates.get(parent.index)!.ended === undefined;
    return !this.#isOver(parent.id);
  }

  #isOver(id: string): boolean {
    const stored = this.#stored.get(id);
    return stored === undefined || isTerminal(taskStateOf(stored.state));
  }

  #failureOf(parent: Parent): { reason: string; cause: string } | null {
    if (parent.index !== null) {
      const ended = this.#fates.get(parent.index)!.ended;
      const { policy = 'FailOnFailure' } = this.#tasks[parent.index]!;
      return ended === undefined || tolerates(policy, 'failed') ? null : { reason: ended.reason, cause: ended.cause! };
    }
    const stored = this.#stored.get(parent.id);
    if (stored === undefined) return { reason: `the task it depends on (${parent.id}) is gone`, cause: parent.id };
    const state = taskStateOf(stored.state);
    if (!isTerminal(state) || tolerates(policyOf(stored.policy), state)) return null;
    if (stored.cause !== null && stored.reason !== null) return { reason: stored.reason, cause: stored.cause };
    const how = state === 'canceled' ? 'was canceled' : state === 'timed_out' ? 'timed out' : 'failed';
    return {
      reason: `the task it depends on, "${stored.name.slice(0, 200)}" (${parent.id}), ${how}`,
      cause: stored.cause ?? parent.id,
    };
  }
}
