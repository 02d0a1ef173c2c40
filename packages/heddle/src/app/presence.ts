import { hostname } from 'node:os';

import type { Engine, WorkerPresence } from '@heddle/core/engine/port';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';
import { VERSION } from './package.ts';
import type { StopSequence } from './stop-sequence.ts';

/** Workers are lost after a minute without a sign of life. */
const INTERVAL_MS = 5_000;

export interface PresenceOptions {
  engine: Pick<Engine, 'present' | 'leave' | 'flushActivity'>;
  type: WorkerPresence['type'];
  concurrency: number | null;
  clock: Clock;
  log: Logger;
  stopping: StopSequence;
}

/** Says what a process runs. */
export type RunsKinds = (kinds: readonly string[], running?: () => number) => void;

/** Name of this process in its claims. */
function processHolder(): string {
  return `${hostname()}/${process.pid}`;
}

/**
 * Records every few seconds that this process is alive, and what it did since: a killed process loses seconds of that.
 * When it stops in order, others do not take it for lost.
 * @returns sets the kinds that it runs and, for a reader of queues, what counts its running tasks
 */
export function startPresence(options: PresenceOptions): RunsKinds {
  const { engine, type, concurrency, clock, log, stopping } = options;
  const holder = processHolder();
  const own = { holder, type, version: VERSION, host: hostname(), concurrency, started_at: clock.now() };
  let kinds: readonly string[] = [];
  let running: (() => number) | undefined;
  const runOnce = async (): Promise<'idle'> => {
    await engine.present([{ ...own, kinds, running: running?.() ?? null }]);
    await engine.flushActivity();
    return 'idle';
  };
  const loop = new Loop({ name: 'presence', intervalMs: INTERVAL_MS, clock, log, runOnce });
  loop.start();
  stopping.add('the presence of this process', async () => {
    await loop.stop();
    await engine.flushActivity();
    await engine.leave(holder);
  });
  return (names, count) => {
    kinds = names;
    running = count;
    loop.wake();
  };
}
