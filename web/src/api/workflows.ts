import type { BasicTask, ChildrenPage, WorkflowTree } from '@heddle/client';
import { getJson, request, segment } from './client.ts';

/** A workflow with its tree, or as much of it as one response contains. */
export function getWorkflowTree(id: string, signal?: AbortSignal): Promise<WorkflowTree> {
  return getJson(`/v1/workflows/${segment(id)}`, signal);
}

/** One page of a container's children, by position. */
export function listChildren(
  id: string,
  container: string,
  { page, pageSize }: { page: number; pageSize: number },
  signal?: AbortSignal,
): Promise<ChildrenPage> {
  const search = new URLSearchParams({ page: String(page), page_size: String(pageSize) });
  return getJson(`/v1/workflows/${segment(id)}/containers/${segment(container)}/children?${search}`, signal);
}

/** Tasks anywhere in a workflow, newest first. */
export function findTasks(
  id: string,
  { name, status, page, pageSize }: { name: string; status: string | null; page: number; pageSize: number },
  signal?: AbortSignal,
): Promise<BasicTask[]> {
  const search = new URLSearchParams({ batch_id: id, page: String(page), page_size: String(pageSize) });
  if (name !== '') search.set('name', name);
  if (status !== null) search.set('status', status);
  return getJson(`/task?${search}`, signal);
}

export type WorkflowOperation = 'cancel' | 'pause' | 'resume' | 'retry';

/** Changes the state of a workflow; throws an ApiError if the server rejects it. */
export async function operateWorkflow(id: string, operation: WorkflowOperation): Promise<void> {
  await request(`/v1/workflows/${segment(id)}/${operation}`, { method: 'POST' });
}
