import { HeddleError } from '@heddle/base/errors';
import { planBackfill, type JobWithDefinition } from '../../domain/schedule.ts';
import type { Queryable } from '../../store/database.ts';
import { insertRuns } from '../../store/job-history.ts';
import { answerIdempotencyKey, takeIdempotencyKey } from '../../store/submissions.ts';
import type { IdempotencyKey } from '../port.ts';
import type { JobContext } from './context.ts';
import { parseSchedule } from './cron.ts';
import { openRunsOf } from './finish-job-runs.ts';
import type { Backfill, BackfillRange } from './port.ts';
import { requireDefinition, sendRuns } from './send-runs.ts';

const ROUTE = 'POST /v1/jobs/{job}/backfill';
const OCCURRENCES_MAX = 1000;
/** Limit of all messages that one backfill sends, since they are one transaction. */
const MESSAGES_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Returns the occurrences of a job in a range of the past, both ends included.
 *
 * @throws HeddleError VALIDATION_FAILED for a range that ends before it begins or in the future, and for too many
 */
export function occurrencesIn(job: JobWithDefinition, { since, until }: BackfillRange, now: number): number[] {
  const details = [
    ...(until < since ? ['until: is before since; exchange the two'] : []),
    ...(until > now ? ['until: is in the future; occurrences to come start by the schedule'] : []),
  ];
  if (details.length > 0) throw new HeddleError('VALIDATION_FAILED', undefined, { details });
  const schedule = parseSchedule(job.cron, job.time_zone);
  const times: number[] = [];
  for (let next = schedule.next(since - 1); next !== null && next <= until; next = schedule.next(next)) {
    times.push(next);
    if (times.length <= OCCURRENCES_MAX) continue;
    throw new HeddleError('VALIDATION_FAILED', undefined, {
      details: [`since: the range has more than ${OCCURRENCES_MAX} occurrences of ${job.name}; give a shorter one`],
    });
  }
  return times;
}

/**
 * Starts a run for each occurrence of a range, oldest first. Unless the overlap policy allows runs in parallel, they wait
 * for one another. The caller holds the job.
 *
 * @param idempotency a repeat returns the first answer, and starts nothing
 */
export async function backfill(
  context: JobContext,
  tx: Queryable,
  job: JobWithDefinition,
  now: number,
  { idempotency, ...range }: BackfillRange & { idempotency: IdempotencyKey | null },
): Promise<Backfill> {
  if (idempotency !== null) {
    const earlier = await takeIdempotencyKey(tx, ROUTE, idempotency.key, idempotency.body_hash, context.now());
    if (earlier !== null && earlier.body_hash !== idempotency.body_hash) throw mismatch();
    if (earlier !== null) return earlier.response as Backfill;
  }
  const occurrences = occurrencesIn(job, range, now);
  requireDefinition(job.workflow, () => context.newId());
  const open = (await openRunsOf(context, tx, [job.id], now)).get(job.id) ?? { running: 0, queued: 0 };
  const runs = planBackfill(job.overlap, occurrences, open).map((run) => ({
    ...run,
    id: context.newId(),
    job_id: job.id,
    trigger: 'backfill' as const,
  }));
  const starting = runs.filter(({ state }) => state === 'Running');
  requireRoom(job, starting.length);
  await insertRuns(tx, runs, now);
  await sendRuns(
    context,
    tx,
    starting.map(({ id }) => ({ run_id: id, job_name: job.name, workflow: job.workflow })),
  );
  const answer = { occurrences, started: runs.length };
  if (idempotency !== null) await answerIdempotencyKey(tx, ROUTE, idempotency.key, JSON.stringify(answer));
  return answer;
}

function requireRoom(job: JobWithDefinition, runs: number): void {
  const bytes = runs * Buffer.byteLength(JSON.stringify(job.workflow));
  if (bytes <= MESSAGES_BYTES_MAX) return;
  throw new HeddleError('VALIDATION_FAILED', undefined, {
    details: [
      `since: ${runs} copies of the workflow of ${job.name} at once have more than ${MESSAGES_BYTES_MAX} bytes; give a shorter range`,
    ],
  });
}

function mismatch(): HeddleError {
  return new HeddleError('IDEMPOTENCY_MISMATCH', undefined, {
    details: ['Idempotency-Key: was used with another body; send a new key for a new request'],
  });
}
