import type { JsonObject } from '@heddle/base/json';
import { MANAGER_QUEUE } from '../domain/message.ts';
import { findDeadLettersNaming, findExpansion } from '../store/generator-reads.ts';
import type { EngineContext } from './context.ts';
import type { Expansion } from './explanation.ts';

const CREATED_IDS_MAX = 1_000;
const DEAD_LETTERS_MAX = 20;

/** Returns which nodes of a generator exist and which were rejected; null for a task that creates none. */
export async function expansionOf({ database }: EngineContext, id: string): Promise<Expansion | null> {
  const row = await findExpansion(database, id, CREATED_IDS_MAX);
  if (row === null) return null;
  const missing = row.expected === null ? null : Math.max(0, row.expected - row.created);
  const letters = missing === 0 ? [] : await findDeadLettersNaming(database, MANAGER_QUEUE, id, DEAD_LETTERS_MAX);
  return {
    ...row,
    missing,
    dead_letters: letters.flatMap(({ body, reason }) => {
      const node = nodeMadeBy(id, body);
      return node === null ? [] : [{ ...node, reason }];
    }),
  };
}

/** Returns the node of a generator's `CreateTask` message; null for any other or unreadable message. */
function nodeMadeBy(generator: string, body: string): { id: string | null } | null {
  try {
    const { type, generator_id, task } = JSON.parse(body) as JsonObject;
    if (type !== 'CreateTask' || typeof generator_id !== 'string') return null;
    if (generator_id.toLowerCase() !== generator) return null;
    const id = (task as JsonObject | null | undefined)?.['id'];
    return { id: typeof id === 'string' ? id : null };
  } catch {
    return null;
  }
}
