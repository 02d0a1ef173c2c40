import type { Demand } from '@heddle/base/vocabulary/requirements';
import { EXHAUSTIONS, REQUEST_STATE_CODES } from '../../domain/runner/state.ts';
import { findRequestOfTask, findRunnerWait, type TaskRequestRow } from '../../store/runner-tasks.ts';
import type { EngineContext } from '../context.ts';
import type { RunnerObstacle } from '../explanation.ts';

/** Returns why a pending task that needs runners is waiting. */
export async function runnerObstacle(
  { database }: EngineContext,
  taskId: string,
  demand: Demand,
): Promise<RunnerObstacle> {
  const request = await findRequestOfTask(database, taskId);
  const { on_demand, blocked } = await findRunnerWait(database, taskId);
  const requirements = on_demand ? { ...demand, usage_class: 'on-demand' as const } : demand;
  return { type: 'runner', requirements, stage: stageOf(request, blocked), ...partsOf(request) };
}

function stageOf(request: TaskRequestRow | null, blocked: boolean): RunnerObstacle['stage'] {
  if (request !== null) return request.state === REQUEST_STATE_CODES.waiting ? 'waiting' : 'granted';
  return blocked ? 'blocked' : 'not_requested';
}

function partsOf(request: TaskRequestRow | null): Omit<RunnerObstacle, 'type' | 'requirements' | 'stage'> {
  if (request === null) {
    return { request_id: null, since: null, ahead: 0, exhaustion: null, launching: 0, last_failure: null, runners: [] };
  }
  const { id, created_at, ahead, exhaustion, launching, reason, runners } = request;
  return {
    request_id: id,
    since: created_at,
    ahead,
    exhaustion: exhaustion === null ? null : EXHAUSTIONS[exhaustion]!,
    launching,
    last_failure: reason,
    runners: runners ?? [],
  };
}

/** Describes the obstacle in one sentence, followed by the remedy if there is one. */
export function runnerSentence(obstacle: RunnerObstacle): string {
  const wanted = wantedOf(obstacle.requirements);
  switch (obstacle.stage) {
    case 'not_requested':
      return `It needs ${wanted}, which a manager will request from the pool shortly. If this persists, no server with a pool is running: start one.`;
    case 'blocked':
      return `It needs ${wanted}, but a concurrency rule is at its limit: earlier tasks run or wait for their runners.`;
    case 'granted':
      return grantedSentence(obstacle);
    case 'waiting': {
      const { last_failure } = obstacle;
      const failure = last_failure === null ? '' : `; the last launch failed: ${last_failure}`;
      return `It waits for ${wanted}: ${stateOfPool(obstacle)}${failure}.${remedyOf(obstacle)}`;
    }
  }
}

function grantedSentence({ runners }: RunnerObstacle): string {
  const [first] = runners;
  if (first === undefined) return 'It just lost its runner and will request another one.';
  const others = runners.length === 1 ? '' : ` with ${runners.length - 1} more`;
  return `Runner ${first.number}${others} was claimed for it and is about to start.`;
}

/** `a runner of the class large (spot, m7i.*)`. */
function wantedOf({ resource_class, usage_class, allowed_instance_types, cpu, memory_mib, count }: Demand): string {
  const details = [
    usage_class,
    ...(allowed_instance_types.length === 0 ? [] : [allowed_instance_types.join(' or ')]),
    ...(cpu === null ? [] : [`at least ${cpu} processors`]),
    ...(memory_mib === null ? [] : [`at least ${memory_mib} MiB of memory`]),
  ];
  const runners = count === 1 ? 'a runner' : `${count} runners`;
  return `${runners} of the class ${resource_class} (${details.join(', ')})`;
}

const EXHAUSTED = {
  global: 'no runner of the class is idle',
  local: 'the idle runners do not fit or are too few',
  uncertain: 'not all idle runners could be checked yet',
} as const;

function stateOfPool({ ahead, exhaustion, launching }: RunnerObstacle): string {
  const position = ahead === 0 ? 'it is next' : `${ahead} ${ahead === 1 ? 'request is' : 'requests are'} ahead`;
  const idle = exhaustion === null ? '' : `, ${EXHAUSTED[exhaustion]}`;
  const launches =
    launching === 0 ? 'none is being launched' : `${launching} ${launching === 1 ? 'is' : 'are'} being launched`;
  return `${position}${idle}, ${launches}`;
}

function remedyOf({ launching, last_failure }: RunnerObstacle): string {
  if (launching > 0) return '';
  const failed = last_failure === null ? '' : ' It is retried automatically once the cause is fixed.';
  return `${failed} \`heddle pool status\` shows what holds launches back.`;
}
