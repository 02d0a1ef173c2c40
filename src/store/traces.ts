import type { Queryable, Statement } from './database.ts';

const FIND_TRACEPARENT: Statement = {
  name: 'workflows.find_traceparent',
  text: 'select traceparent from workflow where id = $1',
};

/** The W3C trace context that a workflow was submitted with; null where there was none, or it is archived. */
export async function findTraceparent(database: Queryable, workflowId: string): Promise<string | null> {
  const [row] = await database.query<{ traceparent: string | null }>(FIND_TRACEPARENT, [workflowId]);
  return row?.traceparent ?? null;
}
