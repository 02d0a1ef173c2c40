import { MANAGER_QUEUE, workerQueueOf } from '@heddle/core/domain/message';
import type { Engine } from '@heddle/core/engine/port';
import type { MessageQueue, QueueDepth } from '@heddle/core/queue/port';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';
import type { Metrics } from '@heddle/core/metrics/metrics';
import type { Queryable } from '@heddle/core/store/database';
import { oldestSnapshot } from '@heddle/core/store/upkeep';

const REFRESH_MS = 15_000;
const KINDS_MAX = 100;

interface GaugeOptions {
  engine: Pick<Engine, 'gauges'>;
  queue: Pick<MessageQueue, 'depth'>;
  metrics: Metrics;
  database: Queryable;
  clock: Clock;
  log: Logger;
}

/**
 * Counts tasks by state and kind, and messages by queue, for `/metrics`: every 15 seconds rather than for each scrape.
 */
export function gaugeLoop(options: GaugeOptions): Loop {
  const { clock, log } = options;
  const runOnce = async (): Promise<'idle'> => {
    await setGauges(options);
    return 'idle';
  };
  return new Loop({ name: 'gauges', intervalMs: REFRESH_MS, clock, log, runOnce });
}

export async function setGauges({
  engine,
  queue,
  metrics,
  database,
}: Omit<GaugeOptions, 'clock' | 'log'>): Promise<void> {
  const { by_state, running_by_kind, ready_by_lane, deliveries, queued_kinds } = await engine.gauges(KINDS_MAX);
  metrics.oldestSnapshotSeconds.set((await oldestSnapshot(database))?.seconds ?? 0);
  metrics.setTasksByState(by_state);
  metrics.runningTasksByKind.replace(running_by_kind);
  metrics.readyTasks.replace(ready_by_lane);
  for (const state of ['held', 'due', 'dead'] as const) metrics.deliveries.set({ state }, deliveries[state]);
  const depths = new Map<string, QueueDepth>();
  for (const name of [MANAGER_QUEUE, ...queued_kinds.map(workerQueueOf)]) depths.set(name, await queue.depth(name));
  metrics.setQueueDepths(depths);
}
