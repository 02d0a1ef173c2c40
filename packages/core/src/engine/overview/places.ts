import { workerQueueOf } from '../../domain/message.ts';
import { COUNT_CAP } from '../../store/overview/counts.ts';
import * as queues from '../../store/overview/queues.ts';
import { findReadyLanes } from '../../store/overview/waiting.ts';
import { findWorkers, type WorkerRow } from '../../store/overview/workers.ts';
import { CLAIMER_GONE_MS } from '../explain.ts';
import { WEBHOOK_LANE } from '../lanes.ts';
import type { OverviewContext } from './context.ts';
import type { CappedCount, ListedQueue, ListedWorker } from './port.ts';
import { laneStates, type LaneState } from './waiting.ts';

const WORKERS_MAX = 1_000;
const QUEUES_MAX = 1_000;
/** Workers are seen every 10 seconds. */
const STALE_AFTER_MS = 30_000;

/** Returns the workers of the last day, the latest seen first, at most 1,000. */
export async function listWorkers({ database, kinds }: OverviewContext, now: number): Promise<ListedWorker[]> {
  const rows = await findWorkers(database, now, WORKERS_MAX);
  const lanes = rows.flatMap((row) => [...(row.lanes ?? []), ...(row.tasks ?? []).map(({ kind }) => kind)]);
  const names = await kinds.names([...new Set(lanes)].filter((lane) => lane > WEBHOOK_LANE));
  return rows.map((row) => ({
    id: row.holder,
    name: row.holder.replace(/ \(token .*\)$/s, ''),
    type: row.type ?? (row.queue_concurrency === null ? 'pull' : 'queue_worker'),
    version: row.version,
    host: row.host,
    kinds: row.kinds ?? (row.lanes ?? []).flatMap((lane) => names.get(lane) ?? []),
    concurrency: row.concurrency ?? row.queue_concurrency,
    running: row.running,
    started_at: row.started_at,
    last_seen_at: row.seen_at,
    state: stateOf(row, now),
    tasks: (row.tasks ?? []).map(({ kind, ...task }) => ({ ...task, kind: names.get(kind) ?? '' })),
  }));
}

function stateOf({ seen_at }: WorkerRow, now: number): ListedWorker['state'] {
  if (now - seen_at <= STALE_AFTER_MS) return 'live';
  return now - seen_at <= CLAIMER_GONE_MS ? 'stale' : 'lost';
}

/** Returns the kinds with ready, delayed or running tasks or with workers, and the queues with messages. */
export async function listQueues(context: OverviewContext, now: number): Promise<ListedQueue[]> {
  const { database } = context;
  const lanes = (await laneStates(context, await findReadyLanes(database), now)).filter(({ kind }) => kind !== null);
  const byKind = new Map(lanes.map((lane) => [lane.kind!, lane]));
  const running = await queues.countRunningKinds(database);
  const delayed = await queues.countDelayedKinds(database);
  const live = await queues.findLiveKinds(database, now, CLAIMER_GONE_MS);
  const workers = new Map(live.map((row) => [row.kind, row.workers]));
  const names = new Set([...byKind.keys(), ...running.keys(), ...delayed.keys(), ...workers.keys()]);
  const listed = [...names].map((name): ListedQueue => ({
    ...kindOf(name, byKind.get(name)),
    in_flight: running.get(name) ?? 0,
    delayed: delayed.get(name) ?? 0,
    workers: workers.get(name) ?? 0,
  }));
  const workersOfQueue = new Map(live.map((row) => [workerQueueOf(row.kind), row.workers]));
  const messages = (await queues.findQueues(database, now, QUEUES_MAX)).map((row): ListedQueue => ({
    name: row.queue,
    type: 'messages',
    ready: cap(row.ready),
    in_flight: row.in_flight,
    delayed: row.delayed,
    dead: Math.min(row.dead, COUNT_CAP),
    oldest_at: row.oldest_at,
    workers: workersOfQueue.get(row.queue) ?? 0,
  }));
  return [...listed, ...messages].sort(
    (left, right) => right.ready.n - left.ready.n || (left.name < right.name ? -1 : 1),
  );
}

function kindOf(name: string, lane: LaneState | undefined): Omit<ListedQueue, 'in_flight' | 'delayed' | 'workers'> {
  const ready = lane === undefined ? cap(0) : { n: lane.row.tasks, n_capped: lane.row.more };
  return { name, type: 'kind', ready, dead: 0, oldest_at: lane?.row.since ?? null };
}

function cap(n: number): CappedCount {
  return { n: Math.min(n, COUNT_CAP), n_capped: n > COUNT_CAP };
}
