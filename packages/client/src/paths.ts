export function taskPath(id: string): string {
  return `/task/${encodeURIComponent(id)}`;
}

export function batchPath(id: string): string {
  return `/v1/batches/${encodeURIComponent(id)}`;
}

export function workflowPath(id: string): string {
  return `/v1/workflows/${encodeURIComponent(id)}`;
}
