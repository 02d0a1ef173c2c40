/** The known name that a mistyped one most likely meant; null where none is near. */
export function suggestName(given: string, known: readonly string[]): string | null {
  if (given.length > 64) return null;
  let best: string | null = null;
  let bestDistance = Math.max(1, Math.floor(given.length / 3)) + 1;
  for (const name of known) {
    const distance = editDistance(given.toLowerCase(), name.toLowerCase());
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}

/** Insertions, deletions, substitutions and swaps of neighbours between two texts. */
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

/** `; did you mean "name"?`, or what is known when nothing is near. */
export function nameRemedy(given: string, known: readonly string[]): string {
  const suggestion = suggestName(given, known);
  if (suggestion !== null) return `; did you mean "${suggestion}"?`;
  return known.length === 0 ? '' : `; known are ${known.join(', ')}`;
}
