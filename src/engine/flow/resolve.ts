import type { JsonObject, JsonValue } from '../../domain/json.ts';
import { pathOf, placeOf, type Place } from '../../domain/parse/path.ts';
import { compileFlowExpression } from '../../expression/cache.ts';
import type { Variables } from '../../expression/compile.ts';
import { ExpressionError } from '../../expression/fault.ts';
import { eventLoopTurn } from '../../runtime/turn.ts';
import { readForInputs, type Upstream } from '../../store/upstream.ts';
import type { EngineContext } from '../context.ts';
import type { Report } from '../port.ts';
import { excessReason } from './excess.ts';
import { replaceExpressions } from './expressions.ts';

/** Bytes that an input may have once its expressions have their values. */
export const RESOLVED_BYTES_MAX = 1_048_576;
/** How long expressions are worked out before other work gets a turn, milliseconds. */
const BURST_MS = 10;

/** A task that was just claimed, as far as its input is concerned. */
interface Handed {
  id: string;
  workflow_id: string;
  kind: string;
  attempt: number;
  name: string;
  local_id: string | null;
  linked: boolean;
  metadata: JsonObject;
  /** Its input holds expressions. */
  computed: boolean;
}

/**
 * Works out the expressions in the inputs of tasks that were just claimed, with what they read: one
 * statement does for as many tasks as its budget allows. Returns those that can be handed out, and the failures of the others.
 */
export async function resolveInputs<Task extends Handed>(
  context: Pick<EngineContext, 'database' | 'clock'>,
  tasks: readonly Task[],
): Promise<{ resolved: Task[]; failures: Report[] }> {
  if (!tasks.some(({ computed }) => computed)) return { resolved: [...tasks], failures: [] };
  const computed = tasks.flatMap((task) => (task.computed ? [task.id] : []));
  const reads = readForInputs(context.database, computed);
  const resolved: Task[] = [];
  const failures: Report[] = [];
  const now = new Date(context.clock.now());
  let turnAt = context.clock.monotonic() + BURST_MS;
  for (const task of tasks) {
    if (!task.computed) {
      resolved.push(task);
      continue;
    }
    const read = await reads.next();
    try {
      resolved.push({ ...task, metadata: inputOf(task, variablesOf(task, read, now)) });
    } catch (error) {
      failures.push(failureOf(task, error));
    }
    if (context.clock.monotonic() < turnAt) continue;
    await eventLoopTurn();
    turnAt = context.clock.monotonic() + BURST_MS;
  }
  return { resolved, failures };
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

function inputOf(task: Handed, variables: Variables): JsonObject {
  const input = replaceExpressions(task.kind, task.metadata, (text, path) => evaluate(text, path, variables));
  const bytes = Buffer.byteLength(JSON.stringify(input));
  if (bytes > RESOLVED_BYTES_MAX) {
    throw new Error(`input: has ${bytes} bytes with the values of its expressions; ${RESOLVED_BYTES_MAX} are allowed`);
  }
  return input;
}

const INPUT: Place = placeOf(null, 'input');

function evaluate(text: string, path: readonly (string | number)[], variables: Variables): JsonValue {
  const compiled = compileFlowExpression(text);
  try {
    if (!compiled.ok) throw compiled.fault;
    return compiled.expression.evaluate(variables);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    throw new Error(`${pathOf(path.reduce<Place>(placeOf, INPUT))}: ${error.message}`, { cause: error });
  }
}

/** No further attempt would do better: what stands before the task has ended, and stays as it is. */
function failureOf({ id, attempt, workflow_id, linked }: Handed, error: unknown): Report {
  const reason = (error instanceof Error ? error.message : String(error)).replaceAll('\0', '\uFFFD').toWellFormed();
  return { task_id: id, attempt, outcome: 'failed', reason, final: true, workflow: { id: workflow_id, linked } };
}
