import { KIND_CHARS_MAX } from '@heddle/core/domain/parse/node';
import type { Engine } from '@heddle/core/engine/port';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';
import type { StopSequence } from './stop-sequence.ts';

/** Three announcements a minute: a worker that is silent for a minute counts as gone. */
const INTERVAL_MS = 20_000;
/** Assumed concurrency of such workers; twice as many tasks of a kind wait in its queue. */
const CONCURRENCY = 100;
const WORKER = 'HEDDLE_QUEUED_KINDS';

export interface QueuedKindsOptions {
  kinds: readonly string[];
  engine: Pick<Engine, 'workersSeen'>;
  clock: Clock;
  log: Logger;
  stopping: StopSequence;
}

/** A kind as accepted by the setting; null if no task can have it. */
export function queuedKind(given: string): string | null {
  return given.length <= KIND_CHARS_MAX ? given : null;
}

/** Announces workers that read the queues of these kinds and do not announce themselves. */
export function announceQueuedKinds({ kinds, engine, clock, log, stopping }: QueuedKindsOptions): void {
  if (kinds.length === 0) return;
  const runOnce = async (): Promise<'idle'> => {
    await engine.workersSeen([{ worker: WORKER, kinds, concurrency: CONCURRENCY }]);
    return 'idle';
  };
  const loop = new Loop({ name: 'queued kinds', intervalMs: INTERVAL_MS, clock, log, runOnce });
  loop.start();
  stopping.add('the announcement of kinds in queues', () => loop.stop());
}
