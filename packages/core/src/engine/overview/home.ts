import { waitQuantile } from '../../domain/wait-histogram.ts';
import * as counts from '../../store/overview/counts.ts';
import { findReadyLanes, type LaneRow } from '../../store/overview/waiting.ts';
import { attentionItems, findTroubles } from './attention.ts';
import type { OverviewContext } from './context.ts';
import { failingGroups } from './failing.ts';
import type { CappedCount, Home, Minute, WaitingGroup } from './port.ts';
import { fullSlots, laneGroup, laneStates, runnerGroups, slotGroup } from './waiting.ts';

const MINUTE_MS = 60_000;
const MINUTES = 60;
const GROUPS_MAX = 50;

/** Reads everything that Home shows. Each statement goes by an index and has a bound. */
export async function computeHome(context: OverviewContext): Promise<Home> {
  const { database } = context;
  const now = await counts.timeOfDatabase(database, context.now());
  const ready = await findReadyLanes(database);
  const [numbers, failing, [lanes, slots, runners], last_hour, others] = await Promise.all([
    countNow(context, ready),
    failingGroups(database, now),
    waitingParts(context, ready, now),
    lastHour(context, now),
    findTroubles(context, now),
  ]);
  const groups = [...lanes.map(laneGroup), ...slots.map(slotGroup), ...runners, ...numbers.groups];
  return {
    at: now,
    now: { ...numbers.now, failed_last_day: cap(failing.total) },
    open_runs: numbers.open_runs,
    last_hour,
    failing: failing.groups,
    waiting: groups.sort((left, right) => right.tasks - left.tasks).slice(0, GROUPS_MAX),
    attention: attentionItems(others, lanes, slots, now),
  };
}

async function waitingParts(context: OverviewContext, ready: readonly LaneRow[], now: number) {
  return [await laneStates(context, ready, now), await fullSlots(context), await runnerGroups(context)] as const;
}

function cap(n: number, atLeast = false): CappedCount {
  return { n: Math.min(n, counts.COUNT_CAP), n_capped: n > counts.COUNT_CAP || atLeast };
}

async function countNow(
  { database }: OverviewContext,
  lanes: readonly LaneRow[],
): Promise<{ now: Omit<Home['now'], 'failed_last_day'>; open_runs: CappedCount; groups: WaitingGroup[] }> {
  const open = await counts.countOpen(database);
  const running = await counts.countRunning(database);
  const listed = lanes.reduce((sum, { tasks }) => sum + tasks, 0);
  const isPart = lanes.some(({ more }) => more) && listed <= counts.COUNT_CAP;
  const ready = isPart ? await counts.countReady(database) : listed;
  const delayed = await counts.findDelayed(database);
  const paused = await counts.findPaused(database);
  // Nothing lists the tasks that wait: they are the open ones that do nothing else.
  const others = [running, ready, delayed?.n ?? 0, paused?.n ?? 0];
  const waiting = Math.max(0, open.tasks - others.reduce((sum, n) => sum + n, 0));
  return {
    now: {
      running: cap(running),
      ready: cap(ready),
      waiting: cap(waiting, open.runs > counts.COUNT_CAP),
      delayed: cap(delayed?.n ?? 0),
      paused: cap(paused?.n ?? 0),
    },
    open_runs: cap(open.runs),
    groups: [
      ...groupOf('delayed', delayed, 'Their time has not come; the first of them is due'),
      ...groupOf('paused', paused, 'They are paused; resume them to continue.'),
    ],
  };
}

function groupOf(type: 'delayed' | 'paused', row: counts.WaitingRow | null, text: string): WaitingGroup[] {
  if (row === null || row.n === 0) return [];
  const { task_id, name } = row;
  return [
    {
      type,
      text: type === 'delayed' ? `${text} at ${new Date(row.since).toISOString()}.` : text,
      tasks: Math.min(row.n, counts.COUNT_CAP),
      tasks_capped: row.n > counts.COUNT_CAP,
      since: type === 'delayed' ? null : row.since,
      kind: null,
      slot_id: null,
      sample: task_id === null || name === null ? null : { task_id, name },
    },
  ];
}

async function lastHour({ database }: OverviewContext, now: number): Promise<Minute[]> {
  const rows = new Map((await counts.findLastHour(database, now)).map((row) => [row.minute, row]));
  const last = Math.floor(now / MINUTE_MS) * MINUTE_MS;
  return Array.from({ length: MINUTES }, (_, index) => {
    const minute = last - (MINUTES - 1 - index) * MINUTE_MS;
    const { started = 0, succeeded = 0, failed = 0, canceled = 0, waits = [] } = rows.get(minute) ?? {};
    const quantiles = { wait_p50_ms: waitQuantile(waits, 0.5), wait_p95_ms: waitQuantile(waits, 0.95) };
    return { minute, started, succeeded, failed, canceled, ...quantiles };
  });
}
