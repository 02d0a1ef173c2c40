import type { Findings, Models } from '@heddle/core/engine/port';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';
import type { StopSequence } from './stop-sequence.ts';

const INTERVAL_MS = 600_000;
const ROWS = 5_000;

/** Periodically deletes old findings and models. */
export function startReconRetention(
  { clock, log, stopping }: { clock: Clock; log: Logger; stopping: StopSequence },
  kept: readonly Pick<Findings | Models, 'retain'>[],
): void {
  const runOnce = async (): Promise<'idle'> => {
    for (const each of kept) await each.retain(ROWS);
    return 'idle';
  };
  const loop = new Loop({ name: 'recon retention', intervalMs: INTERVAL_MS, clock, log, runOnce });
  loop.start();
  stopping.add('the retention of findings and models', () => loop.stop());
}
