import { requireLogin, sessionEpoch } from './session.ts';
import type { Dag, LogPage } from '@heddle/client';

/** A request that did not succeed. `status` 0: the server was unreachable. */
export class ApiError extends Error {
  readonly status: number;
  readonly details: readonly string[];

  constructor(status: number, message: string, details: readonly string[] = []) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.details = details;
  }

  /** Whether the same request may succeed later without intervention. */
  get transient(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** Fetches with the cookie of the session, converts every failure to an ApiError and requests a login on 401. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const epoch = sessionEpoch();
  let response: Response;
  try {
    response = await fetch(path, { ...init, cache: 'no-store', credentials: 'same-origin' });
  } catch (error) {
    if (init.signal?.aborted === true) throw error;
    throw new ApiError(0, 'The server is unreachable');
  }
  if (response.ok) return response;
  if (response.status === 401) requireLogin(epoch);
  throw await errorOf(response);
}

async function errorOf(response: Response): Promise<ApiError> {
  const fallback = `The server responded with ${response.status} ${response.statusText}`.trim();
  try {
    const body = (await response.json()) as Record<string, unknown>;
    const message = [body['error'], body['title'], body['detail']].find((text) => typeof text === 'string');
    const details = Array.isArray(body['details']) ? body['details'].filter((line) => typeof line === 'string') : [];
    return new ApiError(response.status, message ?? fallback, details);
  } catch {
    return new ApiError(response.status, fallback);
  }
}

export async function getJson<Body>(path: string, signal?: AbortSignal): Promise<Body> {
  const response = await request(path, {
    headers: { accept: 'application/json' },
    ...(signal === undefined ? {} : { signal }),
  });
  try {
    return (await response.json()) as Body;
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new ApiError(0, 'The response was cut off or is not JSON');
  }
}

export const segment = encodeURIComponent;

export function getDag(id: string, signal?: AbortSignal): Promise<Dag> {
  return getJson(`/dag/${segment(id)}`, signal);
}

/** Returns an address on this server that downloads an artifact without a token, for a minute. */
export async function artifactAddress(id: string): Promise<string> {
  const response = await request(`/v1/artifacts/${segment(id)}/url`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ expires_in_secs: 60 }),
  });
  const { pathname, search } = new URL(((await response.json()) as { url: string }).url);
  return `${pathname}${search}`;
}

/** The last lines of what the task logged. */
export function tailLogs(id: string, lines: number, signal?: AbortSignal): Promise<LogPage> {
  return getJson(`/v1/tasks/${segment(id)}/logs?tail=${lines}`, signal);
}

export type TaskOperation = 'cancel' | 'pause' | 'resume' | 'retry';

const OPERATIONS: Record<TaskOperation, (id: string) => [method: string, path: string]> = {
  cancel: (id) => ['DELETE', `/task/${id}`],
  pause: (id) => ['PATCH', `/task/pause/${id}`],
  resume: (id) => ['PATCH', `/task/resume/${id}`],
  retry: (id) => ['POST', `/v1/tasks/${id}/retry`],
};

/** Changes the state of a task; throws an ApiError if the server rejects it. */
export async function operateTask(id: string, operation: TaskOperation): Promise<void> {
  const [method, path] = OPERATIONS[operation](segment(id));
  await request(path, { method });
}
