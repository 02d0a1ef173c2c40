/** URL of a workflow's page. */
export function workflowAddress(id: string): string {
  return `/view?workflow=${encodeURIComponent(id)}`;
}
