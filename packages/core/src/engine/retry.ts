import { HeddleError } from '@heddle/base/errors';
import type { JsonObject } from '@heddle/base/json';
import { placeOf, quoted } from '@heddle/base/parse/path';
import { isTerminal } from '@heddle/base/vocabulary/task-state';
import type { NewContainerNode, NewNode, NewTaskNode } from '@heddle/base/vocabulary/workflow';
import { BRANCHES, branchOf, CONDITIONAL_KIND } from '../domain/conditional.ts';
import type { Queryable } from '../store/database.ts';
import { findTaskPlaces, type TaskPlace } from '../store/flow.ts';
import { findTask } from '../store/task-reads.ts';
import { replaceInputs, retryTasks, retryTasksAfter, type InputRow, type Moved } from '../store/transitions.ts';
import type { EngineContext } from './context.ts';
import { resolveOutside } from './flow/outside-reads.ts';
import { planFlow, type FlowPlan, type TaskReads } from './flow/plan.ts';
import { operate } from './operate.ts';
import type { RetryOptions, TransitionOutcome } from './port.ts';

const APPLIED = 0;

/**
 * Reopens failed, timed-out or canceled tasks, archived ones included, and the tasks that failed because of them. With
 * `after`: ended tasks and everything after them, also what succeeded.
 *
 * @throws HeddleError VALIDATION_FAILED if an expression of a new input is invalid
 */
export async function retry(
  context: EngineContext,
  ids: readonly string[],
  { after = false, inputs }: RetryOptions = {},
): Promise<TransitionOutcome[]> {
  const found: { obstacle: string | null } = { obstacle: null };
  const outcomes = await operate(context, ids, (set) =>
    context.database.transaction(async (tx) => {
      let moved: Moved;
      if (after) {
        const { obstacle, ...others } = await retryTasksAfter(tx, set, context.now());
        found.obstacle = obstacle;
        moved = others;
      } else moved = await retryTasks(tx, set, context.now());
      if (inputs === undefined) return moved;
      const applied = set.filter((id, index) => inputs.has(id) && (moved.codes?.[index] ?? APPLIED) === APPLIED);
      if (applied.length === 0) return moved;
      const rows = await inputRows(tx, applied, inputs);
      const lanes = await replaceInputs(tx, rows, context.now());
      return { ...moved, lanes: [...(moved.lanes ?? []), ...lanes] };
    }),
  );
  if (found.obstacle === null) return outcomes;
  const reason = await reasonOf(context, found.obstacle);
  return outcomes.map((outcome) =>
    outcome.result === 'conflict' && outcome.state !== null && isTerminal(outcome.state)
      ? { ...outcome, reason }
      : outcome,
  );
}

async function reasonOf({ database }: EngineContext, obstacle: string): Promise<string> {
  const task = await findTask(database, obstacle);
  const name = quoted(task?.name ?? obstacle);
  return task?.ended_at === null
    ? `${name} (${obstacle}) comes after it and is running; wait for its end, or cancel it`
    : `the generator ${name} (${obstacle}) would create its nodes again; run the whole workflow again instead`;
}

/** Returns the rows of new inputs, with what their expressions read. */
async function inputRows(
  tx: Queryable,
  ids: readonly string[],
  inputs: ReadonlyMap<string, JsonObject>,
): Promise<InputRow[]> {
  const tasks = await findTaskPlaces(tx, ids);
  const plans = tasks.map((task) => (task.container_id === null ? null : planOf(task, inputs.get(task.id)!)));
  const places = tasks.flatMap((task, n) =>
    plans[n] === null
      ? []
      : [{ n, workflow_id: task.workflow_id, container_id: task.container_id!, position: task.position! }],
  );
  const outcomes = await resolveOutside(tx, places, (n) => plans[n]!);
  const faults: string[] = [];
  const rows = tasks.map(({ id }, n): InputRow => {
    const outcome = outcomes.get(n);
    let reads: TaskReads | null = null;
    if (outcome !== undefined && 'fault' in outcome) faults.push(outcome.fault.replaceAll(/(^|; )task\./g, '$1'));
    else reads = outcome?.reads.get(id) ?? null;
    return { id, input: inputs.get(id)!, reads };
  });
  if (faults.length > 0) throw new HeddleError('VALIDATION_FAILED', undefined, { details: faults });
  return rows;
}

/** Plans the expressions of an input as those of a new node, which reads nodes of its workflow. */
function planOf(task: TaskPlace, input: JsonObject): FlowPlan {
  const node = taskNode(task.id, task.kind, input, task.starts_by_webhook);
  if (task.kind !== CONDITIONAL_KIND) return planFlow(node, placeOf(null, 'task'), true);
  // Its branches are nodes after it: they stay as they are, so that names are enough.
  const branches = [...new Set(BRANCHES.flatMap((branch) => branchOf(input[branch]) ?? []))];
  const root: NewContainerNode = {
    type: 'container',
    id: '',
    local_id: null,
    mode: 'sequential',
    policy: 'FailOnFailure',
    children: [node, ...branches.map((name): NewNode => taskNode(name, '', {}, false))],
  };
  const { faults, ...plan } = planFlow(root, placeOf(null, 'root'), true);
  const named = sameBranches(task.metadata, input) ? [] : ['task.input: then and else cannot change with a retry'];
  return { ...plan, faults: [...faults.map((fault) => fault.replace(/^root\.children\[0\]/, 'task')), ...named] };
}

function sameBranches(one: JsonObject, other: JsonObject): boolean {
  return BRANCHES.every((branch) => JSON.stringify(branchOf(one[branch])) === JSON.stringify(branchOf(other[branch])));
}

function taskNode(id: string, kind: string, metadata: JsonObject, startsByWebhook: boolean): NewTaskNode {
  return {
    type: 'task',
    policy: 'FailOnFailure',
    disabled: false,
    generates: false,
    task: {
      id,
      local_id: null,
      name: kind,
      kind,
      metadata,
      delay_ms: 0,
      actions: startsByWebhook ? [{ trigger: 'start', params: { url: '', verb: 'Post' } }] : [],
      rules: [],
      dedupe: [],
      retry: null,
      dependencies: [],
      timeout_secs: 1,
      deadline_basis: 'activity',
      priority: 0,
      expected_count: null,
    },
  };
}
