import type { EngineContext } from './context.ts';

export const WEBHOOK_LANE = 0;

/** Tasks that need runners and have none; no claimer takes from this lane. */
const RUNNERS_LANE = -1;

/** A lane's runner number must fit an integer column, and no runner has the first one. */
const RUNNER_NUMBER_MIN = 2;
/** The next number is the lane of tasks that have requested a runner. */
const RUNNER_NUMBER_MAX = 2_147_483_646;

const KIND_PREFIX = 'kind:';
const RUNNER_PREFIX = 'runner:';

/**
 * Maps lane names to the numbers that tables use: `webhook`, `kind:NAME`, `runner:NUMBER` (tasks claimed for this
 * runner), or `runners` (tasks without a runner).
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

/** @throws Error if a lane is that of tasks without a runner, which cannot be claimed */
export async function claimableLaneIds(
  context: Pick<EngineContext, 'kinds'>,
  lanes: readonly string[],
): Promise<number[]> {
  if (lanes.includes('runners')) throw new Error('tasks of the lane "runners" have no runner, and are never claimed');
  return laneIds(context, lanes);
}

export function isRunnerLane(lane: number): boolean {
  return lane < RUNNERS_LANE;
}

function fixedLane(lane: string): number {
  if (lane === 'webhook') return WEBHOOK_LANE;
  if (lane === 'runners') return RUNNERS_LANE;
  const number = lane.startsWith(RUNNER_PREFIX) ? Number(lane.slice(RUNNER_PREFIX.length)) : NaN;
  if (Number.isInteger(number) && number >= RUNNER_NUMBER_MIN && number <= RUNNER_NUMBER_MAX) return -number;
  throw new Error(`lane must be "webhook", "kind:NAME" or "runner:NUMBER" (got "${lane}")`);
}
