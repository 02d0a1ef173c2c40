/** Shorter parts of an id would match by chance: `49` occurs in every twentieth one. */
const ID_PIECE_MIN = 8;

/** Returns whether each word of the query, in any case, occurs in a task's name or kind, or is a part of its id. */
export function matchesQuery(task: { id: string; name: string; kind: string }, query: string): boolean {
  const words = query.trim().toLowerCase().split(/\s+/);
  const text = `${task.name}\n${task.kind}`.toLowerCase();
  return words.every((word) => text.includes(word) || (word.length >= ID_PIECE_MIN && task.id.includes(word)));
}
