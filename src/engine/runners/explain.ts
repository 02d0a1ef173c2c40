import type { Demand } from '../../domain/runner/requirements.ts';
import { findRequestOfTask, findRunnerWait, type TaskRequestRow } from '../../store/runner-tasks.ts';
import type { EngineContext } from '../context.ts';
import type { RunnerObstacle } from '../explanation.ts';

/** As the pool stores them. */
const EXHAUSTIONS = ['global', 'local', 'uncertain'] as const;

/** What a pending task waits for that needs runners. */
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
  if (request !== null) return request.state === 0 ? 'waiting' : 'granted';
  return blocked ? 'held_back' : 'unasked';
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

/** One sentence, or two where there is something to be done. */
export function runnerSentence(obstacle: RunnerObstacle): string {
  const wanted = wantedOf(obstacle.requirements);
  switch (obstacle.stage) {
    case 'unasked':
      return `It needs ${wanted}, which a manager is about to ask the pool for; where that does not happen, no server with a pool runs: start one.`;
    case 'held_back':
      return `It needs ${wanted}, and asks for it when a rule lets it: tasks that come first have run, or wait for their runners, up to its limit.`;
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
  if (first === undefined) return 'It lost its runner a moment ago, and asks for another one.';
  const others = runners.length === 1 ? '' : ` with ${runners.length - 1} more`;
  return `Runner ${first.number}${others} was claimed for it and is about to begin.`;
}

/** `a runner of the class large (spot, m7i.*)`. */
export function wantedOf({
  resource_class,
  usage_class,
  allowed_instance_types,
  cpu,
  memory_mib,
  count,
}: Demand): string {
  const details = [
    usage_class,
    ...(allowed_instance_types.length === 0 ? [] : [allowed_instance_types.join(' or ')]),
    ...(cpu === null ? [] : [`at least ${cpu} processors`]),
    ...(memory_mib === null ? [] : [`at least ${memory_mib} MiB of memory`]),
  ];
  const what = count === 1 ? 'a runner' : `${count} runners at once`;
  return `${what} of the class ${resource_class} (${details.join(', ')})`;
}

const EXHAUSTED = {
  global: 'none of the class is idle',
  local: 'those that are idle are not what it asks for, or too few',
  uncertain: 'not all that are idle could be looked at yet',
} as const;

function stateOfPool({ ahead, exhaustion, launching }: RunnerObstacle): string {
  const turn = ahead === 0 ? 'it is next' : `${ahead} ${ahead === 1 ? 'request comes' : 'requests come'} first`;
  const idle = exhaustion === null ? '' : `, ${EXHAUSTED[exhaustion]}`;
  const launches =
    launching === 0 ? 'none is being launched' : `${launching} ${launching === 1 ? 'is' : 'are'} being launched`;
  return `${turn}${idle}, ${launches}`;
}

function remedyOf({ launching, last_failure }: RunnerObstacle): string {
  if (launching > 0) return '';
  const failed = last_failure === null ? '' : ' It is tried again by itself once that is mended.';
  return `${failed} \`heddle pool status\` says what holds launches back.`;
}
