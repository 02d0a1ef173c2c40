/** A token of JavaScript or TypeScript; comments, numbers and regular expressions yield none. */
export interface Token {
  readonly kind: 'name' | 'text' | 'mark';
  /** The name, the content of a quoted string, or one character. Empty for templates. */
  readonly value: string;
  /** Offset in the source. */
  readonly at: number;
}

const NAME_START = /[\p{ID_Start}$_#\\]/u;
const NAME = /[\p{ID_Continue}$#\\{}]|\u200c|\u200d/u;
/** Keywords after which a slash starts a regular expression. */
const BEFORE_PATTERN = new Set(
  'return typeof instanceof in of new delete void throw case do else yield await'.split(' '),
);

/**
 * Splits source code into tokens for finding calls and imports. It is not a parser: it accepts invalid code and always
 * terminates.
 */
export function* tokensOf(source: string): Generator<Token> {
  /** Brace depths at which a template resumes. */
  const templates: number[] = [];
  let braces = 0;
  let last: Token | null = null;
  let at = 0;
  while (at < source.length) {
    const character = source[at]!;
    if (character === '/' && (source[at + 1] === '/' || source[at + 1] === '*')) {
      at = endOfComment(source, at);
      continue;
    }
    if (/\s/.test(character)) {
      at += 1;
      continue;
    }
    const start = at;
    let token: Token | null;
    if (character === '"' || character === "'") {
      at = endOfText(source, at);
      token = { kind: 'text', value: source.slice(start + 1, at - 1), at: start };
    } else if (character === '`' || (character === '}' && templates.at(-1) === braces)) {
      if (character === '}') templates.pop();
      at = endOfTemplatePart(source, at + 1);
      if (source[at - 1] === '{') templates.push(braces);
      token = { kind: 'text', value: '', at: start };
    } else if (character === '/' && beginsPattern(last)) {
      at = endOfPattern(source, at);
      token = { kind: 'text', value: '', at: start };
    } else if (NAME_START.test(character)) {
      at = endOfName(source, at);
      token = { kind: 'name', value: source.slice(start, at), at: start };
    } else {
      if (character === '{') braces += 1;
      if (character === '}') braces = Math.max(0, braces - 1);
      at += 1;
      token = { kind: 'mark', value: character, at: start };
    }
    last = token;
    yield token;
  }
}

function endOfComment(source: string, at: number): number {
  const isLine = source[at + 1] === '/';
  const end = source.indexOf(isLine ? '\n' : '*/', at + 2);
  if (end < 0) return source.length;
  return isLine ? end : end + 2;
}

/** An unterminated string ends with its line. */
function endOfText(source: string, at: number): number {
  const quote = source[at]!;
  for (let next = at + 1; next < source.length; next += 1) {
    const character = source[next]!;
    if (character === '\\') next += 1;
    else if (character === quote || character === '\n') return next + 1;
  }
  return source.length;
}

/** Returns the offset after the closing quote, or after the `${` that interrupts the template. */
function endOfTemplatePart(source: string, from: number): number {
  for (let next = from; next < source.length; next += 1) {
    const character = source[next]!;
    if (character === '\\') next += 1;
    else if (character === '`') return next + 1;
    else if (character === '$' && source[next + 1] === '{') return next + 2;
  }
  return source.length;
}

function beginsPattern(last: Token | null): boolean {
  if (last === null) return true;
  if (last.kind === 'name') return BEFORE_PATTERN.has(last.value);
  return last.kind === 'mark' && !/[)\]}\d]/.test(last.value);
}

function endOfPattern(source: string, at: number): number {
  let inClass = false;
  for (let next = at + 1; next < source.length; next += 1) {
    const character = source[next]!;
    if (character === '\\') next += 1;
    else if (character === '\n') return next;
    else if (character === '[') inClass = true;
    else if (character === ']') inClass = false;
    else if (character === '/' && !inClass) return next + 1;
  }
  return source.length;
}

/** Braces are part of a name only in an escape: `\u{65}val`. */
function endOfName(source: string, at: number): number {
  let next = at;
  let inEscape = false;
  for (; next < source.length; next += 1) {
    const character = source[next]!;
    if (!NAME.test(character)) break;
    if (character === '\\') inEscape = true;
    else if (character === '{' || character === '}') {
      if (!inEscape) break;
      if (character === '}') inEscape = false;
    }
  }
  return next;
}
