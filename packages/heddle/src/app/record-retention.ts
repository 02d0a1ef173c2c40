import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';
import type { StopSequence } from './stop-sequence.ts';

const INTERVAL_MS = 600_000;
const ROWS = 5_000;

/** Records that are kept for a time: findings, models, the audit log. */
interface KeptRecords {
  /** Deletes old ones, at most `limit`. */
  retain(limit: number): Promise<void>;
}

/** Periodically deletes old records. */
export function startRecordRetention(
  { clock, log, stopping }: { clock: Clock; log: Logger; stopping: StopSequence },
  kept: readonly KeptRecords[],
): void {
  const runOnce = async (): Promise<'idle'> => {
    for (const each of kept) await each.retain(ROWS);
    return 'idle';
  };
  const loop = new Loop({ name: 'record retention', intervalMs: INTERVAL_MS, clock, log, runOnce });
  loop.start();
  stopping.add('the retention of records', () => loop.stop());
}
