import type { JobOutcome } from '../../execution/port.ts';
import type { ManagerContext } from '../context.ts';
import { quarantineKey, type TaskNode } from './instantiate.ts';

/** Minimum interval between progress notifications. */
const PROGRESS_INTERVAL_MS = 100;

/** Step 8: runs a job in its tier. Never rejects. @param signal interrupts the run */
export async function execute(context: ManagerContext, node: TaskNode, signal: AbortSignal): Promise<JobOutcome> {
  const { task, tier, job } = node;
  const { tracing, clock, log } = context.options;
  const startedAt = clock.monotonic();
  let notifiedAt = Number.NEGATIVE_INFINITY;
  const spanned = { event_name: job.event_name, correlation_id: job.correlation_id, tier: tier.tier };
  let outcome: JobOutcome;
  try {
    outcome = await tracing.execute(job.traceparent, spanned, (span) => {
      const traceparent = tracing.traceparentOf(span) ?? job.traceparent;
      return tier.run(
        { ...job, traceparent },
        {
          signal,
          onStart: () => undefined,
          onProgress: (progress) => {
            task.progress = progress;
            const now = clock.monotonic();
            if (now - notifiedAt < PROGRESS_INTERVAL_MS) return;
            notifiedAt = now;
            task.notifyProgress();
          },
        },
      );
    });
  } catch (error) {
    log.error({ err: error, correlation_id: task.id }, 'tier failed to run a job');
    outcome = { status: 'error', code: 'INTERNAL', message: '' };
  }
  context.throughput.noteRun(clock.monotonic() - startedAt);
  if (outcome.status === 'error' && outcome.code === 'WORKER_LOST') {
    context.quarantine.noteLoss(quarantineKey(job.event_name, job.args));
  }
  return outcome;
}
