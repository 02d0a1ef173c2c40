/** What one pass over a JSON text finds without building anything. Meaningless where the text is not valid JSON. */
export interface JsonScan {
  /** Members of all objects, a repeated one counted each time. */
  members: number;
  /** Deepest nesting of objects and arrays; the outermost is 1. */
  depth: number;
  /** Whether any string holds a `\u` escape: the only way to write NUL or half of a surrogate pair in valid UTF-8. */
  hasUnicodeEscape: boolean;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const LOWER_U = 0x75;
const NEWLINE = 0x0a;
const SPACE = 0x20;

/**
 * Counts members and depth of a JSON text in one pass over its bytes. A parsed value that holds fewer members than its
 * text announces has lost some to duplicate keys: comparing two numbers costs far less than a set of keys per object.
 */
export function scanJson(bytes: Uint8Array): JsonScan {
  const end = bytes.length;
  let members = 0;
  let depth = 0;
  let deepest = 0;
  let hasUnicodeEscape = false;
  let at = 0;
  while (at < end) {
    const byte = bytes[at++]!;
    if (byte === QUOTE) {
      while (at < end) {
        const inside = bytes[at++]!;
        if (inside === QUOTE) break;
        if (inside === BACKSLASH) {
          if (bytes[at] === LOWER_U) hasUnicodeEscape = true;
          at += 1;
        }
      }
    } else if (byte === NEWLINE) {
      // Indentation is most of an indented document.
      while (bytes[at] === SPACE) at += 1;
    } else if (byte === COLON) {
      members += 1;
    } else if (byte >= 0x5b) {
      // `[` and `{` differ from `]` and `}` by two; letters of true, false and null lie between them.
      if (byte === 0x7b || byte === 0x5b) {
        depth += 1;
        if (depth > deepest) deepest = depth;
      } else if (byte === 0x7d || byte === 0x5d) depth -= 1;
    }
  }
  return { members, depth: deepest, hasUnicodeEscape };
}
