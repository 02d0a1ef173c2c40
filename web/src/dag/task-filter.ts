import type { TaskView } from './task-store.ts';

/** Shorter pieces of an id would match by chance: `49` stands in every twentieth one. */
const ID_PIECE_MIN = 8;

/** Whether each word of the query, in any case, stands in a task's name or kind, or is a piece of its id. */
export function matchesQuery(task: TaskView, query: string): boolean {
  const words = query.trim().toLowerCase().split(/\s+/);
  const text = `${task.name}\n${task.kind}`.toLowerCase();
  return words.every((word) => text.includes(word) || (word.length >= ID_PIECE_MIN && task.id.includes(word)));
}
