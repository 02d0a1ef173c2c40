import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendJson, sendProblem } from './fixture-answers.ts';
import type { FixtureApi } from './fixture-answers.ts';
import { fixtureId } from './fixture-batches.ts';

export interface FixtureJob {
  id: string;
  name: string;
  cron: string;
  time_zone: string;
  recurrence: number | null;
  overlap: string;
  catch_up: string;
  paused: boolean;
  paused_reason: string | null;
  next_run_at: string | null;
  history: FixtureRun[];
}

export interface FixtureRun {
  id: string;
  trigger: 'schedule' | 'manual';
  scheduled_for: string;
  state: string;
  reason: string | null;
  workflow_id: string | null;
  started_at: string | null;
  completed_at: string | null;
  task_counts: Record<string, number> | null;
}

const HOUR_MS = 3_600_000;

export function fixtureJob(place: number, name: string, more: Partial<FixtureJob> = {}): FixtureJob {
  return {
    id: fixtureId(0xffff, place),
    name,
    cron: '30 2 * * *',
    time_zone: 'UTC',
    recurrence: null,
    overlap: 'skip',
    catch_up: 'once',
    paused: false,
    paused_reason: null,
    next_run_at: new Date(Date.now() + 5 * HOUR_MS).toISOString(),
    history: [],
    ...more,
  };
}

export function fixtureRun(job: number, place: number, state: string, more: Partial<FixtureRun> = {}): FixtureRun {
  const at = new Date(Date.now() - (place + 1) * HOUR_MS);
  const ran = state !== 'Skipped' && state !== 'Queued';
  return {
    id: fixtureId(0xfff0 + job, place),
    trigger: 'schedule',
    scheduled_for: at.toISOString(),
    state,
    reason: null,
    workflow_id: ran ? fixtureId(0xff00 + place, 0) : null,
    started_at: ran ? at.toISOString() : null,
    completed_at: ran && state !== 'Running' ? new Date(at.getTime() + 95_000).toISOString() : null,
    task_counts: ran && state !== 'Running' ? { Succeeded: 12, ...(state === 'Failed' ? { Failed: 3 } : {}) } : null,
    ...more,
  };
}

/** A stand-in for the server's job API. */
export class FixtureJobApi implements FixtureApi {
  readonly jobs = new Map<string, FixtureJob>();

  handle(url: URL, request: IncomingMessage, response: ServerResponse): boolean {
    const [version, resource, key, part] = url.pathname.split('/').slice(1);
    if (version !== 'v1' || resource !== 'jobs') return false;
    const page = Number(url.searchParams.get('page') ?? 0);
    const size = Number(url.searchParams.get('page_size') ?? 50);
    const pageOf = <Row>(rows: Row[]): Row[] => rows.slice(page * size, (page + 1) * size);
    const job = [...this.jobs.values()].find((one) => one.id === key || one.name === key);
    if (key === undefined) sendJson(response, pageOf([...this.jobs.values()].map(shown)));
    else if (job === undefined) sendProblem(response, 404, `No such job: ${key}`);
    else if (request.method === 'POST') this.operate(job, part ?? '', response);
    else if (part === 'history') sendJson(response, pageOf(job.history));
    else if (part === 'next') sendJson(response, upcoming(job, Number(url.searchParams.get('count'))));
    else sendJson(response, shown(job));
    return true;
  }

  private operate(job: FixtureJob, operation: string, response: ServerResponse): void {
    if (operation === 'trigger') {
      const run = fixtureRun(9, job.history.length + 100, 'Running', {
        trigger: 'manual',
        scheduled_for: new Date().toISOString(),
        started_at: new Date().toISOString(),
      });
      job.history.unshift(run);
      sendJson(response, run);
      return;
    }
    job.paused = operation === 'pause';
    job.paused_reason = null;
    job.next_run_at = job.paused ? null : new Date(Date.now() + HOUR_MS).toISOString();
    sendJson(response, shown(job));
  }
}

function shown({ history, ...job }: FixtureJob): unknown {
  return { ...job, last_run: history[0] ?? null };
}

function upcoming(job: FixtureJob, count: number): unknown[] {
  if (job.next_run_at === null) return [];
  const first = Date.parse(job.next_run_at);
  return Array.from({ length: count }, (_, i) => {
    const at = new Date(first + i * 24 * HOUR_MS).toISOString();
    return { at, local: at.replace('Z', '+00:00') };
  });
}
