import assert from 'node:assert/strict';

import type { JobRun, NewJob } from '@heddle/core/domain/schedule';
import type { JobContext } from '@heddle/core/engine/schedule/context';
import { finishJobRuns } from '@heddle/core/internal/engine/schedule/finish-job-runs';
import { createJobs } from '@heddle/core/engine/schedule/jobs';
import type { JobRunEnd, Jobs } from '@heddle/core/engine/schedule/port';
import { startDueJobs } from '@heddle/core/internal/engine/schedule/start-due-jobs';
import { PostgresQueue } from '@heddle/core/internal/queue/postgres';
import { VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { newId } from '@heddle/base/random';
import type { Database, Statement } from '@heddle/core/store/database';
import { createTestDatabase } from '../../postgres.ts';

export const MINUTE_MS = 60_000;

export interface JobBench {
  clock: VirtualClock;
  database: Database;
  url: string;
  context: JobContext;
  jobs: Jobs;
  /** Moves the clock to this moment. */
  at: (iso: string) => Promise<void>;
  start: () => ReturnType<typeof startDueJobs>;
  /** Ends runs as the manager does when their workflows end. */
  finish: (runs: readonly JobRun[], end?: Partial<JobRunEnd>) => Promise<void>;
  /** Everything that was sent to the manager so far, in order. */
  sent: () => Promise<SentMessage[]>;
  /** The history of a job, oldest first. */
  history: (key: string) => Promise<JobRun[]>;
}

export interface SentMessage {
  type: string;
  job_run_id: string;
  collection: { name: string; root: { id: string; mode: string; children: { kind: string; id: string }[] } };
}

const SENT: Statement = {
  name: 'test.sent',
  text: `select body from queue_message where queue = 'manager' order by sent_at, id`,
};

/** Jobs on a database of their own, at 2026-06-01 00:00:00 UTC. */
export async function newJobBench(start = '2026-06-01T00:00:00Z'): Promise<JobBench> {
  const { database, url } = await createTestDatabase();
  const clock = new VirtualClock(Date.parse(start));
  const context = contextOn(database, clock);
  const jobs = createJobs(context);
  return {
    clock,
    database,
    url,
    context,
    jobs,
    at: (iso) => clock.advance(Date.parse(iso) - clock.now()),
    start: () => startDueJobs(context, 100),
    finish: (runs, end) =>
      database.transaction((tx) =>
        finishJobRuns(
          context,
          tx,
          runs.map((run) => ({
            workflow_id: run.workflow_id!,
            job_run_id: run.id,
            root_state: 'succeeded',
            ended_at: clock.now(),
            counts: { succeeded: 1 },
            ...end,
          })),
        ),
      ),
    sent: async () => (await database.query<{ body: string }>(SENT)).map(({ body }) => JSON.parse(body) as SentMessage),
    history: async (key) => {
      const runs = await jobs.history(key, { offset: 0, limit: 2000 });
      assert.ok(runs !== null);
      return runs.reverse();
    },
  };
}

export function contextOn(database: Database, clock: VirtualClock): JobContext {
  const now = (): string => new Date(clock.now()).toISOString();
  const queue = new PostgresQueue({ database, clock, log: silentLogger, now });
  return { database, queue, log: silentLogger, newId, now };
}

export function newJob(extra: Partial<NewJob> = {}): NewJob {
  return {
    name: 'nightly',
    cron: '0 * * * *',
    time_zone: 'UTC',
    recurrence: null,
    overlap: 'skip',
    catch_up: 'once',
    paused: false,
    workflow: { root: { mode: 'sequential', children: [{ id: 'scan', kind: 'TcpSyn', input: { port: 443 } }] } },
    ...extra,
  };
}

/** `00:05 Running` of each entry. */
export function told(runs: readonly JobRun[]): string[] {
  return runs.map((run) => `${new Date(run.scheduled_for).toISOString().slice(11, 16)} ${run.state}`);
}

export function statesOf(runs: readonly JobRun[], state: JobRun['state']): JobRun[] {
  return runs.filter((run) => run.state === state);
}
