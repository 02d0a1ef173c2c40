const PLAIN_KEY = /^[A-Za-z_$][A-Za-z0-9_$-]{0,79}$/;
const MAX_KEY_CHARS = 80;

/** Appends a member's name to a readable path: `tasks[3].name`, or `metadata["a key"]` if it must be quoted. */
export function memberPath(path: string, key: string): string {
  if (PLAIN_KEY.test(key)) return path === '' ? key : `${path}.${key}`;
  return `${path}[${quoted(key)}]`;
}

export function elementPath(path: string, index: number): string {
  return `${path}[${index}]`;
}

/** Quotes, escapes and cuts a user's string for a message, so that no message grows with its input. */
export function quoted(text: string, maxChars = MAX_KEY_CHARS): string {
  const cut = text.length > maxChars ? `${text.slice(0, maxChars)}…` : text;
  return JSON.stringify(cut.toWellFormed());
}
