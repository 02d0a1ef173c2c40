const PLAIN_KEY = /^[A-Za-z_$][A-Za-z0-9_$-]{0,79}$/;
const MAX_KEY_CHARS = 80;

/** Appends a member's name to a path as people write it: `tasks[3].name`, or `metadata["a key"]` where it must be quoted. */
export function memberPath(path: string, key: string): string {
  if (PLAIN_KEY.test(key)) return path === '' ? key : `${path}.${key}`;
  return `${path}[${quoted(key)}]`;
}

export function elementPath(path: string, index: number): string {
  return `${path}[${index}]`;
}

/** A user's text inside a message: quoted, escaped and cut, so that no message grows with what was sent. */
export function quoted(text: string, maxChars = MAX_KEY_CHARS): string {
  const cut = text.length > maxChars ? `${text.slice(0, maxChars)}…` : text;
  return JSON.stringify(cut.toWellFormed());
}
