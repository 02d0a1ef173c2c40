/** Where the page of a workflow is. */
export function workflowAddress(id: string): string {
  return `/view?workflow=${encodeURIComponent(id)}`;
}
