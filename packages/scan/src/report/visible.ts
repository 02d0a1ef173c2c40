/** C0 and C1 controls, line and paragraph separators, marks that reorder or hide text, and unpaired surrogates. */
const UNPRINTABLE =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\u001b': '\\e' };

/**
 * Returns one line that is safe to print: names and contents are untrusted and may contain sequences that move the
 * cursor, rename the window or reverse text. Unprintable characters are shown as escapes: `\e[2J`, `\u202e`.
 */
export function visible(text: string): string {
  return text.replace(UNPRINTABLE, (character) => {
    const named = NAMED[character];
    if (named !== undefined) return named;
    const code = character.charCodeAt(0);
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

/** Truncates text to a number of characters, with an ellipsis. */
export function shortened(text: string, characters: number): string {
  if (text.length <= characters) return text;
  return `${text.slice(0, characters - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
