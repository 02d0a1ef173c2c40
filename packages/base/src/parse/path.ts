/**
 * Place of a value in a document: a member or an element of its parent. Formatted only for a fault, since a deep tree
 * has far more places than faults.
 */
export interface Place {
  readonly above: Place | null;
  readonly step: string | number;
}

export function placeOf(above: Place | null, step: string | number): Place {
  return { above, step };
}

const PLAIN_KEY = /^[A-Za-z_$][A-Za-z0-9_$-]{0,79}$/;
const HEAD_CHARS = 60;
const TAIL_CHARS = 140;

/** Formats a path such as `root.children[2].mode`; elides the middle of a very long one. */
export function pathOf(place: Place): string {
  const steps: string[] = [];
  for (let at: Place | null = place; at !== null; at = at.above) steps.push(stepText(at.step, at.above === null));
  const path = steps.reverse().join('');
  if (path.length <= HEAD_CHARS + TAIL_CHARS) return path;
  return `${path.slice(0, HEAD_CHARS)}…${path.slice(-TAIL_CHARS)}`;
}

function stepText(step: string | number, first: boolean): string {
  if (typeof step === 'number') return `[${step}]`;
  if (!PLAIN_KEY.test(step)) return `[${quoted(step)}]`;
  return first ? step : `.${step}`;
}

/** Quotes, escapes and cuts a user's string for a message, so that no message grows with its input. */
export function quoted(text: string, maxChars = 80): string {
  const cut = text.length > maxChars ? `${text.slice(0, maxChars)}…` : text;
  return JSON.stringify(cut.toWellFormed());
}
