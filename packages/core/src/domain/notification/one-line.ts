/** Returns a string without control characters, at most `maxCharacters` long, for headers and headings. */
export function oneLine(text: string, maxCharacters = 300): string {
  const line = text.replace(/[\s\x00-\x1f\x7f\u0080-\u009f\u2028\u2029]+/g, ' ').trim();
  return cutText(line, maxCharacters);
}

/** Cuts a string that is too long, never within a surrogate pair. */
export function cutText(text: string, maxCharacters: number): string {
  const cut = text.length > maxCharacters ? `${text.slice(0, maxCharacters - 1)}…` : text;
  return cut.toWellFormed();
}
