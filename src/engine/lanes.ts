import type { EngineContext } from './context.ts';

export const WEBHOOK_LANE = 0;

/** Tasks that need a runner and have none; nobody claims from it. */
export const RUNNERS_LANE = -1;

/** The number of a lane's runner is that of a column of type integer, and no runner has the first one. */
const RUNNER_NUMBER_MIN = 2;
/** The one after it names the lane of those that have asked for a runner. */
const RUNNER_NUMBER_MAX = 2_147_483_646;

const KIND_PREFIX = 'kind:';
const RUNNER_PREFIX = 'runner:';

/**
 * Lane names to the numbers that tables use: `webhook`, `kind:NAME`, `runner:NUMBER` (the tasks that this runner was
 * claimed for), or `runners` (those that have none yet).
 */
export async function laneIds({ kinds }: Pick<EngineContext, 'kinds'>, lanes: readonly string[]): Promise<number[]> {
  const names = lanes.filter((lane) => lane.startsWith(KIND_PREFIX)).map((lane) => lane.slice(KIND_PREFIX.length));
  const known = names.length === 0 ? [] : await kinds.ids(names);
  const ids = new Map(names.map((name, index) => [name, known[index]!]));
  return lanes.map((lane) => {
    if (lane.startsWith(KIND_PREFIX)) return ids.get(lane.slice(KIND_PREFIX.length))!;
    return fixedLane(lane);
  });
}

/** @throws Error where a lane is that of tasks without a runner: those wait for theirs */
export async function claimableLaneIds(
  context: Pick<EngineContext, 'kinds'>,
  lanes: readonly string[],
): Promise<number[]> {
  if (lanes.includes('runners')) throw new Error('tasks of the lane "runners" have no runner, and nobody claims them');
  return laneIds(context, lanes);
}

export function isRunnerLane(lane: number): boolean {
  return lane < RUNNERS_LANE;
}

/** The lane of the tasks that a runner of this number was claimed for. */
export function runnerLane(number: number): string {
  return `${RUNNER_PREFIX}${number}`;
}

function fixedLane(lane: string): number {
  if (lane === 'webhook') return WEBHOOK_LANE;
  if (lane === 'runners') return RUNNERS_LANE;
  const number = lane.startsWith(RUNNER_PREFIX) ? Number(lane.slice(RUNNER_PREFIX.length)) : NaN;
  if (Number.isInteger(number) && number >= RUNNER_NUMBER_MIN && number <= RUNNER_NUMBER_MAX) return -number;
  throw new Error(`a lane is "webhook", "kind:NAME" or "runner:NUMBER", not "${lane}"`);
}
