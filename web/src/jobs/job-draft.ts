import type { Job, JobDetail } from '@heddle/client';
import { ApiError } from '../api/client.ts';

/** The members of a job that the form edits, as the server names them. */
export const FIELDS = ['name', 'cron', 'time_zone', 'recurrence', 'overlap', 'catch_up', 'workflow'] as const;

/** What the form holds: texts, as they are typed. */
export interface Draft {
  name: string;
  cron: string;
  time_zone: string;
  recurrence: string;
  overlap: Job['overlap'];
  catch_up: Job['catch_up'];
  paused: boolean;
  workflow: string;
}

const EXAMPLE = {
  root: { mode: 'sequential', children: [{ id: 'date', kind: 'Command', input: { argv: ['date'] } }] },
};

export function draftOf(job: JobDetail | null): Draft {
  if (job === null) {
    const rest = { overlap: 'skip', catch_up: 'once', paused: false } as const;
    return { name: '', cron: '', time_zone: localZone(), recurrence: '', ...rest, workflow: textOf(EXAMPLE) };
  }
  const { name, cron, time_zone, recurrence, overlap, catch_up, paused, workflow } = job;
  const left = recurrence === null ? '' : String(recurrence);
  return { name, cron, time_zone, recurrence: left, overlap, catch_up, paused, workflow: textOf(workflow) };
}

function localZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function textOf(value: object): string {
  return JSON.stringify(value, null, 2);
}

/**
 * Returns the body that creates the job, or that changes it: then only what differs, since the server may have redacted
 * the rest; null if nothing does.
 * @throws ApiError in the form of the server's, for what cannot be sent
 */
export function bodyOf(draft: Draft, job: JobDetail | null): Record<string, unknown> | null {
  const before = draftOf(job);
  const isChanged = (name: (typeof FIELDS)[number]): boolean => job === null || draft[name] !== before[name];
  const faults: string[] = [];
  const body: Record<string, unknown> = {};
  for (const name of FIELDS) if (isChanged(name)) body[name] = valueOf(name, draft, faults);
  if (faults.length > 0) throw new ApiError(400, 'The job cannot be saved', faults);
  if (job !== null) return Object.keys(body).length === 0 ? null : body;
  return { ...body, paused: draft.paused };
}

function valueOf(name: (typeof FIELDS)[number], draft: Draft, faults: string[]): unknown {
  if (name === 'workflow') return workflowOf(draft.workflow, faults);
  if (name !== 'recurrence') return draft[name].trim();
  if (draft.recurrence.trim() === '') return null;
  if (!/^\s*\d+\s*$/.test(draft.recurrence))
    faults.push('recurrence: must be a whole number, or empty for unlimited runs');
  return Number(draft.recurrence);
}

function workflowOf(text: string, faults: string[]): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    faults.push(`workflow: is not valid JSON: ${(error as Error).message}`);
    return null;
  }
}
