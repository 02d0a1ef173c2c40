import type { Engine } from '../engine/port.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/log.ts';
import { Loop } from '../runtime/loop.ts';
import type { Metrics } from '../runtime/metrics.ts';

const REFRESH_MS = 15_000;
const KINDS_MAX = 100;

/** Counts tasks by state and by kind for `/metrics`, every 15 seconds rather than for each scrape. */
export function gaugeLoop(options: { engine: Engine; metrics: Metrics; clock: Clock; log: Logger }): Loop {
  const { engine, metrics, clock, log } = options;
  const runOnce = async (): Promise<'idle'> => {
    const { by_state, running_by_kind, ready_by_lane, deliveries } = await engine.gauges(KINDS_MAX);
    metrics.setTasksByState(by_state);
    metrics.runningTasksByKind.replace(running_by_kind);
    metrics.readyTasks.replace(ready_by_lane);
    for (const state of ['held', 'due', 'dead'] as const) metrics.deliveries.set({ state }, deliveries[state]);
    return 'idle';
  };
  return new Loop({ name: 'gauges', intervalMs: REFRESH_MS, clock, log, runOnce });
}
