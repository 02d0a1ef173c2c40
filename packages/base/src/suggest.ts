/** Returns `; did you mean "name"?`, or the list of known names if none is similar. */
export function nameRemedy(given: string, known: readonly string[]): string {
  const suggestion = suggestName(given, known);
  if (suggestion !== null) return `; did you mean "${suggestion}"?`;
  return known.length === 0 ? '' : `; known are ${known.join(', ')}`;
}

/** Returns the known name that a mistyped or shortened one most likely meant; null if none is similar. */
export function suggestName(given: string, known: readonly string[]): string | null {
  if (given.length > 64) return null;
  const typed = given.toLowerCase();
  const farthest = Math.max(1, Math.floor(given.length / 3));
  const ranked = known
    .map((name) => ({ name, distance: editDistance(typed, name.toLowerCase()) }))
    .sort((left, right) => left.distance - right.distance);
  const nearest = ranked[0];
  if (nearest !== undefined && nearest.distance <= farthest) return nearest.name;
  if (given.length < 3) return null;
  return known.find((name) => name.startsWith(typed) || typed.startsWith(name)) ?? null;
}

/** Returns the edit distance of two strings, swaps of neighbors included. */
function editDistance(left: string, right: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const substituted = previous[column - 1]! + (left[row - 1] === right[column - 1] ? 0 : 1);
      const swapped = row > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      const afterSwap = swapped ? beforePrevious[column - 2]! + 1 : Infinity;
      current.push(Math.min(substituted, afterSwap, previous[column]! + 1, current[column - 1]! + 1));
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[right.length]!;
}
