import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';
import type { Metrics } from '@heddle/core/metrics/metrics';
import type { Engine } from '@heddle/core/engine/port';
import type { DeliveryLoop } from './delivery-loop.ts';

export interface StartLoopOptions {
  engine: Pick<Engine, 'claimForDelivery' | 'onReady'>;
  /** Sends the starts claimed here; returns how many more it can take. */
  deliveries: Pick<DeliveryLoop, 'startRoom' | 'startsWritten' | 'onStartRoom'>;
  holder: string;
  /** Poll interval without notifications (`WORKER_LOOP_INTERVAL_MS`). */
  intervalMs: number;
  clock: Clock;
  log: Logger;
  metrics?: Pick<Metrics, 'workerLoopIterations' | 'workerLoopDurationSeconds' | 'tasksProcessedPerLoop'> | undefined;
}

/** The lane of tasks that start by a webhook. */
const WEBHOOK_LANE = 'webhook';

/** Claims ready tasks that start by a webhook, as many as the delivery loop can take. */
export class StartLoop {
  readonly #options: StartLoopOptions;
  readonly #loop: Loop;
  #unsubscribe: (() => void) | undefined;
  /** Whether ready tasks may be left that exceeded the capacity. */
  #wantsRoom = false;

  constructor(options: StartLoopOptions) {
    this.#options = options;
    const { metrics } = options;
    this.#loop = new Loop({
      name: 'start',
      intervalMs: options.intervalMs,
      clock: options.clock,
      log: options.log,
      runOnce: () => this.runOnce(),
      onIteration: (durationMs) => {
        metrics?.workerLoopIterations.inc();
        metrics?.workerLoopDurationSeconds.observe(durationMs / 1000);
      },
    });
    options.deliveries.onStartRoom(() => {
      if (this.#wantsRoom && options.deliveries.startRoom() > 0) this.#loop.wake();
    });
  }

  start(): void {
    this.#unsubscribe ??= this.#options.engine.onReady([WEBHOOK_LANE], () => this.wake());
    this.#loop.start();
  }

  wake(): void {
    this.#loop.wake();
  }

  async stop(): Promise<void> {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    await this.#loop.stop();
  }

  /** Runs one pass: claims as many tasks as the delivery loop can take, whose start deliveries are then written. */
  async runOnce(): Promise<'again' | 'idle'> {
    const { engine, deliveries, holder, metrics } = this.#options;
    const limit = deliveries.startRoom();
    this.#wantsRoom = limit <= 0;
    if (this.#wantsRoom) return 'idle';
    const claimed = await engine.claimForDelivery(holder, limit);
    metrics?.tasksProcessedPerLoop.observe(claimed);
    if (claimed > 0) deliveries.startsWritten(claimed);
    this.#wantsRoom = claimed >= limit;
    return this.#wantsRoom && deliveries.startRoom() > 0 ? 'again' : 'idle';
  }
}
