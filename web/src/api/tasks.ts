import type { Artifact, Explanation, Task, TaskAttempt, TaskResult } from '@heddle/client';
import { ApiError, getJson, request, segment } from './client.ts';

/** What the console asks about one task. */
export const tasks = {
  get: (id: string, signal: AbortSignal) => getJson<Task>(`/task/${segment(id)}`, signal),
  explain: (id: string, signal: AbortSignal) => getJson<Explanation>(`/v1/tasks/${segment(id)}/explain`, signal),
  attempts: (id: string, signal: AbortSignal) => getJson<TaskAttempt[]>(`/v1/tasks/${segment(id)}/attempts`, signal),
  artifacts: (id: string, signal: AbortSignal) => getJson<Artifact[]>(`/v1/tasks/${segment(id)}/artifacts`, signal),
  result: async (id: string, signal: AbortSignal): Promise<TaskResult | null> => {
    try {
      return await getJson<TaskResult>(`/v1/tasks/${segment(id)}/result`, signal);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return null;
      throw error;
    }
  },
};

export async function pinArtifact(id: string, pinned: boolean): Promise<void> {
  await sendJson('PATCH', `/v1/artifacts/${segment(id)}`, { pinned });
}

/** Frees the slots of a canceled task whose worker is gone. */
export async function releaseTask(id: string): Promise<void> {
  await sendJson('POST', `/v1/tasks/${segment(id)}/release`);
}

/** Sends a change; the response is left unread. */
export function sendJson(method: string, path: string, body?: unknown): Promise<Response> {
  return request(path, {
    method,
    ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
}
