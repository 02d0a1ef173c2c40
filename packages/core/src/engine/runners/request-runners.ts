import type { Demand } from '@heddle/base/vocabulary/requirements';
import { derivedId } from '@heddle/base/derived-id';
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
import type { RunnerBroker, RunnerRequestCounts, TaskRunnerRequest } from './port.ts';

const STRAYS_MAX = 1_000;
const LOST_MAX = 500;

/**
 * Requeues attempts that lost their runners, then requests runners for at most `limit` ready tasks without a request.
 */
export async function askForRunners(
  context: EngineContext,
  desk: RunnerBroker,
  limit: number,
): Promise<RunnerRequestCounts> {
  if (!(await hasRunnerTasks(context.database, context.now()))) return { asked: 0, requeued: 0, more: false };
  const requeued = await requeueLost(context);
  await recallStrays(context.database, STRAYS_MAX);
  const { seen, demands } = await demandOfTasks(context.database, limit, context.now());
  if (demands.length > 0) await desk.ask(demands.map(taskDemandOf));
  return { asked: demands.length, requeued, more: seen >= limit };
}

/** Returns the ID of the runner request of an attempt. */
function runnerRequestId(taskId: string, attempt: number): string {
  return derivedId(taskId, { key: `runner ${attempt}` });
}

function taskDemandOf({ task_id, attempt, requirements, tenant }: DemandRow): TaskRunnerRequest {
  return { ...demandOf(requirements), id: runnerRequestId(task_id, attempt), task_id, attempt, tenant };
}

/** Returns the demand of a task, which uses on-demand runners after `on_demand` was set. */
function demandOf({ on_demand, ...demand }: StoredDemand): Demand {
  return on_demand === true ? { ...demand, usage_class: 'on-demand' } : demand;
}

async function requeueLost(context: EngineContext): Promise<number> {
  const lost = await findAttemptsWithoutRunner(context.database, LOST_MAX, context.now());
  if (lost.length === 0) return 0;
  const exhausted = lost.filter((attempt) => attempt.worn);
  if (exhausted.length > 0) await report(context, exhausted.map(finalReport));
  const others = lost.filter((attempt) => !attempt.worn);
  if (others.length > 0) await release(context, others);
  context.log.warn({ tasks: lost.length, reason: lost[0]!.reason }, 'tasks lost their runners; requeued');
  return lost.length;
}

function finalReport({ task_id, attempt, reason }: LostAttempt) {
  const why = `its runner was lost in attempt ${attempt} (${reason}), and no attempts are left`;
  return { task_id, attempt, outcome: 'failed' as const, reason: why, final: true };
}
