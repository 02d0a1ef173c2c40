import type { JsonObject, JsonValue } from '@heddle/base/json';
import { pathOf, placeOf, type Place } from '@heddle/base/parse/path';
import { messageOf } from '@heddle/base/thrown';
import { secretNamesIn } from '@heddle/base/vocabulary/secret-reference';
import { compileFlowExpression } from '../../expression/cache.ts';
import type { Variables } from '../../expression/compile.ts';
import { AllowanceSpentError, ExpressionError } from '../../expression/fault.ts';
import { SLICE_STEPS, WORK_MAX } from '../../expression/meter.ts';
import { SlicedWork, type SlicedWorkOptions } from '@heddle/base/sliced-work';
import { readForInputs, type Upstream } from '../../store/upstream.ts';
import type { EngineContext } from '../context.ts';
import type { Report } from '../port.ts';
import { excessReason } from './excess.ts';
import { replacedExpressions, replaceExpressions } from './expressions.ts';

/** Maximum size of an input with the values of its expressions, bytes. */
const RESOLVED_BYTES_MAX = 1_048_576;
/**
 * Steps that the expressions of all tasks of one claim, and so of one task, may take together: four times the limit of
 * a single expression.
 */
export const CLAIM_STEPS_MAX = 4 * WORK_MAX;

/** Budget for the expressions of the tasks of one claim. */
export function claimBudget(options: Pick<SlicedWorkOptions, 'turn'> = {}): SlicedWork {
  return new SlicedWork({ ...options, steps_max: CLAIM_STEPS_MAX, slice_steps: SLICE_STEPS });
}

/** Part of a claimed task that the evaluation of its input needs. */
interface Handed {
  id: string;
  workflow_id: string;
  kind: string;
  attempt: number;
  name: string;
  local_id: string | null;
  linked: boolean;
  metadata: JsonObject;
  /** True if its input holds expressions. */
  computed: boolean;
}

export interface ResolvedInputs<Task> {
  /** Tasks that can be handed out. */
  resolved: Task[];
  /** Failure reports of the tasks whose expressions failed. */
  failures: Report[];
  /** Tasks beyond the budget, beginning with the first that it was too small for. */
  deferred: Task[];
}

/**
 * Evaluates the expressions in the inputs of claimed tasks; one statement reads the data of as many tasks as its own
 * budget allows. Works in slices, so that it does not block the process. The first task may use the whole budget, so
 * that every claim makes progress; if that is not enough the task fails, since no later claim has more.
 */
export async function resolveInputs<Task extends Handed>(
  context: Pick<EngineContext, 'database' | 'clock'>,
  tasks: readonly Task[],
  budget: SlicedWork = claimBudget(),
): Promise<ResolvedInputs<Task>> {
  const inputs: ResolvedInputs<Task> = { resolved: [], failures: [], deferred: [] };
  const { resolved, failures, deferred } = inputs;
  const computed = tasks.flatMap((task) => (task.computed ? [task.id] : []));
  const reads = readForInputs(context.database, computed);
  const now = new Date(context.clock.now());
  for (const task of tasks) {
    if (!task.computed) {
      resolved.push(task);
      continue;
    }
    // Once one task has to wait, all later ones wait too, which keeps their order.
    if (deferred.length > 0) {
      deferred.push(task);
      continue;
    }
    const isFirst = task.id === computed[0];
    const read = await reads.next();
    try {
      resolved.push({ ...task, metadata: await inputOf(task, variablesOf(task, read, now), budget) });
    } catch (error) {
      if (error instanceof BudgetSpentError && !isFirst) deferred.push(task);
      else failures.push(failureOf(task, error));
    }
  }
  return inputs;
}

function variablesOf(task: Handed, { nodes, data, workflow_name, excess }: Upstream, now: Date): Variables {
  if (excess !== null) throw new Error(`input: ${excessReason(excess)}`);
  return {
    nodes,
    data,
    workflow: { id: task.workflow_id, name: workflow_name },
    task: { id: task.id, name: task.name, local_id: task.local_id, attempt: task.attempt },
    now,
  };
}

async function inputOf(task: Handed, variables: Variables, budget: SlicedWork): Promise<JsonObject> {
  const values: JsonValue[] = [];
  for (const { text, path } of replacedExpressions(task.kind, task.metadata)) {
    if (budget.isSliceOver) await budget.nextSlice();
    values.push(await evaluate(text, path, variables, budget));
  }
  let next = 0;
  const input = replaceExpressions(task.kind, task.metadata, () => values[next++]!);
  // Otherwise anyone who controls an earlier result could have a secret put into this input.
  if (secretNamesIn(input).length > secretNamesIn(task.metadata).length) {
    throw new Error('input: the value of an expression names a secret; only the input itself may');
  }
  const bytes = Buffer.byteLength(JSON.stringify(input));
  if (bytes > RESOLVED_BYTES_MAX) {
    throw new Error(
      `input: has ${bytes} bytes with the values of its expressions; at most ${RESOLVED_BYTES_MAX} are allowed`,
    );
  }
  return input;
}

const INPUT: Place = placeOf(null, 'input');

/** The remaining budget of a claim is too small for an expression that may be valid by itself. */
class BudgetSpentError extends Error {}

async function evaluate(
  text: string,
  path: readonly (string | number)[],
  variables: Variables,
  budget: SlicedWork,
): Promise<JsonValue> {
  const place = (): string => pathOf(path.reduce<Place>(placeOf, INPUT));
  const compiled = compileFlowExpression(text);
  try {
    if (!compiled.ok) throw compiled.fault;
    return await compiled.expression.evaluateSliced(variables, budget);
  } catch (error) {
    if (error instanceof AllowanceSpentError) {
      throw new BudgetSpentError(
        `${place()}: with it the expressions of this input take more than ${budget.steps_max} steps; read fewer ` +
          'values, nest fewer macros, or split the work into several tasks',
        { cause: error },
      );
    }
    if (!(error instanceof ExpressionError)) throw error;
    throw new Error(`${place()}: ${error.message}`, { cause: error });
  }
}

/** Retrying is useless: the preceding nodes have ended and do not change. */
function failureOf({ id, attempt, workflow_id, linked }: Handed, error: unknown): Report {
  const reason = messageOf(error).replaceAll('\0', '\uFFFD').toWellFormed();
  return { task_id: id, attempt, outcome: 'failed', reason, final: true, workflow: { id: workflow_id, linked } };
}
