import type { Queryable, Statement } from './database.ts';

const FIND_BEFORE: Statement = {
  name: 'flow.find_nodes_before',
  text: `select n, name, id, before from find_nodes_before($1::jsonb)`,
};

/** Names that the expressions of new nodes read, with each node's position in its workflow's tree. */
export interface NamedRead {
  n: number;
  workflow_id: string;
  container_id: string;
  position: number;
  names: readonly string[];
}

export interface FoundNode {
  n: number;
  name: string;
  /** Null if the workflow has no such node, or several. */
  id: string | null;
  /** It precedes the new node. */
  before: boolean;
}

export async function findNodesBefore(queryable: Queryable, reads: readonly NamedRead[]): Promise<FoundNode[]> {
  if (reads.length === 0) return [];
  return queryable.query(FIND_BEFORE, [JSON.stringify(reads)]);
}
