import { HeddleError } from '@heddle/base/errors';
import type { TaskResult } from '@heddle/base/vocabulary/workflow';
import { findNodeByName, findResultOfTask, putCollectionData } from '../../store/collection-data.ts';
import type { Database } from '../../store/database.ts';
import { findResults } from '../../store/tree-reads.ts';
import type { SharedData } from './port.ts';

export interface SharedDataOptions {
  database: Database;
  /** Time that statements use; null: the database's clock. */
  readonly now?: () => string | null;
}

/** Results per page; they may be large. */
const PAGE_RESULTS = 50;

/** Shared data of the workflows of one database. */
export function createSharedData({ database, now }: SharedDataOptions): SharedData {
  return {
    async put(entry) {
      if (await putCollectionData(database, entry, now?.() ?? null)) return;
      const held = entry.list ? 'a value' : 'a list';
      throw new HeddleError('CONFLICT', `"${entry.name}" holds ${held}, or a later attempt has put something there`);
    },
    resultsOf: (workflowId, name, signal) => resultsOf(database, workflowId, name, signal),
  };
}

async function* resultsOf(
  database: Database,
  workflowId: string,
  name: string,
  signal: AbortSignal,
): AsyncGenerator<TaskResult, void, undefined> {
  const node = await findNodeByName(database, workflowId, name);
  if (node === null) throw new HeddleError('NOT_FOUND', `the workflow has no node named "${name}"`);
  if (!node.is_container) {
    const result = await findResultOfTask(database, node.id);
    if (result !== null) yield result;
    return;
  }
  for (let after: string | null = null; ;) {
    signal.throwIfAborted();
    const page: TaskResult[] = await findResults(database, 'below', node.id, after, PAGE_RESULTS);
    yield* page;
    if (page.length < PAGE_RESULTS) return;
    after = page.at(-1)!.task_id;
  }
}
