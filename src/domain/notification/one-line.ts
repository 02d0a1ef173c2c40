/** A text without line breaks or other control characters, of at most `maxCharacters`: fit for a header or a heading. */
export function oneLine(text: string, maxCharacters = 300): string {
  const line = text.replace(/[\s\x00-\x1f\x7f\u0080-\u009f\u2028\u2029]+/g, ' ').trim();
  return cutText(line, maxCharacters);
}

/** The start of a text that is too long; never half of a surrogate pair. */
export function cutText(text: string, maxCharacters: number): string {
  const cut = text.length > maxCharacters ? `${text.slice(0, maxCharacters - 1)}…` : text;
  return cut.toWellFormed();
}
