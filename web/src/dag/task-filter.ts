/** Shorter parts of an id would match by chance: `49` occurs in every twentieth one. */
const ID_PIECE_MIN = 8;

interface Searched {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
}

/** Returns a test of whether each word of the query, in any case, occurs in a task's name or kind, or is a part of its id. */
export function matcherOf(query: string): (task: Searched) => boolean {
  const words = query.trim().toLowerCase().split(/\s+/);
  return ({ id, name, kind }) => {
    const text = `${name}\n${kind}`.toLowerCase();
    return words.every((word) => text.includes(word) || (word.length >= ID_PIECE_MIN && id.includes(word)));
  };
}
