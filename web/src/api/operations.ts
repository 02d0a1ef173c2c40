import type {
  BulkOperation,
  BulkResult,
  Kind,
  RunDefinition,
  Schemas,
  StartedRun,
  SubmissionWarning,
} from '@heddle/client';
import { queryOf } from '../data/filters.ts';
import { ApiError, getJson, segment } from './client.ts';
import { sendJson } from './tasks.ts';

export type Operation = BulkOperation['operation'];

/** As many as one request may change. */
const AT_ONCE = 1000;

async function answer<Body>(response: Promise<Response>): Promise<Body> {
  return (await (await response).json()) as Body;
}

async function changeMany(path: string, operation: Operation, ids: readonly string[]): Promise<BulkResult> {
  const all: BulkResult = { changed: [], unchanged: [] };
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    const body = { operation, ids: ids.slice(from, from + AT_ONCE) };
    const { changed, unchanged } = await answer<BulkResult>(sendJson('POST', path, body));
    all.changed.push(...changed);
    all.unchanged.push(...unchanged);
  }
  return all;
}

/** Changes tasks in one transition; what cannot change does not affect the others. */
export function changeTasks(operation: Operation, ids: readonly string[]): Promise<BulkResult> {
  return changeMany('/v1/tasks/bulk', operation, ids);
}

/** Changes runs, each as a whole. */
export function changeRuns(operation: Operation, ids: readonly string[]): Promise<BulkResult> {
  return changeMany('/v1/runs/bulk', operation, ids);
}

export async function retryTask(id: string, body: { input?: object; after?: boolean }): Promise<void> {
  await sendJson('POST', `/v1/tasks/${segment(id)}/retry`, body);
}

export function getDefinition(id: string, signal?: AbortSignal): Promise<RunDefinition> {
  return getJson(`/v1/runs/${segment(id)}/definition`, signal);
}

export function rerun(id: string, inputs: Readonly<Record<string, object>>): Promise<StartedRun> {
  const body = Object.keys(inputs).length === 0 ? {} : { inputs };
  return answer(sendJson('POST', `/v1/runs/${segment(id)}/rerun`, body));
}

export function listKinds(signal: AbortSignal): Promise<Kind[]> {
  return getJson('/v1/kinds', signal);
}

/** Null: no worker and no task has this kind. */
export async function getKind(name: string, signal: AbortSignal): Promise<Kind | null> {
  try {
    return await getJson(`/v1/kinds/${segment(name)}`, signal);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

export function getSchemas(signal: AbortSignal): Promise<Schemas> {
  return getJson('/v1/schemas', signal);
}

/** A run that was just submitted, with what may be wrong with it. Null: there was nothing to do. */
export interface Submitted {
  id: string | null;
  warnings: readonly SubmissionWarning[];
}

export async function submitBatch(tasks: unknown, name: string): Promise<Submitted> {
  const response = await sendJson('POST', `/task${queryOf({ batch_name: name })}`, tasks);
  return { id: response.headers.get('x-batch-id'), warnings: warningsOf(response.headers.get('x-warnings')) };
}

export async function submitWorkflow(workflow: unknown): Promise<Submitted> {
  const { id, warnings } = await answer<{ id: string; warnings: SubmissionWarning[] }>(
    sendJson('POST', '/v1/workflows', workflow),
  );
  return { id, warnings };
}

function warningsOf(header: string | null): SubmissionWarning[] {
  try {
    return header === null ? [] : (JSON.parse(header) as SubmissionWarning[]);
  } catch {
    return [];
  }
}
