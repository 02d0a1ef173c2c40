import type { Demand } from '../../domain/runner/requirements.ts';
import { derivedId } from '../../runtime/derived-id.ts';
import {
  demandOfTasks,
  findAttemptsWithoutRunner,
  hasRunnerTasks,
  recallStrays,
  type DemandRow,
  type LostAttempt,
} from '../../store/runner-tasks.ts';
import type { StoredDemand } from '../../store/task-reads.ts';
import type { EngineContext } from '../context.ts';
import { release } from '../heartbeat.ts';
import { report } from '../report.ts';
import type { RunnerDesk, RunnersAsked, TaskDemand } from './port.ts';

const STRAYS_MAX = 1_000;
const LOST_MAX = 500;

/**
 * Takes back attempts whose runners are gone, then asks the desk for the runners of at most `limit` tasks that are ready
 * and have asked for none.
 */
export async function askForRunners(context: EngineContext, desk: RunnerDesk, limit: number): Promise<RunnersAsked> {
  if (!(await hasRunnerTasks(context.database, context.now()))) return { asked: 0, taken_back: 0, more: false };
  const taken_back = await takeBack(context);
  await recallStrays(context.database, STRAYS_MAX);
  const { seen, demands } = await demandOfTasks(context.database, limit, context.now());
  if (demands.length > 0) await desk.ask(demands.map(taskDemandOf));
  return { asked: demands.length, taken_back, more: seen >= limit };
}

/** The id of what a task asks for its attempt by. */
export function runnerRequestId(taskId: string, attempt: number): string {
  return derivedId(taskId, { key: `runner ${attempt}` });
}

function taskDemandOf({ task_id, attempt, requirements, tenant }: DemandRow): TaskDemand {
  return { ...demandOf(requirements), id: runnerRequestId(task_id, attempt), task_id, attempt, tenant };
}

/** What it asks for now. */
export function demandOf({ on_demand, ...demand }: StoredDemand): Demand {
  return on_demand === true ? { ...demand, usage_class: 'on-demand' } : demand;
}

async function takeBack(context: EngineContext): Promise<number> {
  const lost = await findAttemptsWithoutRunner(context.database, LOST_MAX, context.now());
  if (lost.length === 0) return 0;
  const worn = lost.filter((attempt) => attempt.worn);
  if (worn.length > 0) await report(context, worn.map(wornReport));
  const others = lost.filter((attempt) => !attempt.worn);
  if (others.length > 0) await release(context, others);
  context.log.warn({ tasks: lost.length, reason: lost[0]!.reason }, 'Tasks lost their runners and begin anew');
  return lost.length;
}

function wornReport({ task_id, attempt, reason }: LostAttempt) {
  const why = `its runner was lost at attempt ${attempt} (${reason}), and it is not tried again`;
  return { task_id, attempt, outcome: 'failed' as const, reason: why, final: true };
}
