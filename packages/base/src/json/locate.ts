import { elementPath, memberPath } from './path.ts';

/** Fault of the source text, found by walking it with the path. */
export interface TextFaults {
  /** Paths of duplicate members. */
  duplicates: string[];
  /** First path nested deeper than allowed. */
  tooDeep: string | null;
}

interface Level {
  path: string;
  keys: Set<string> | null;
  index: number;
}

/**
 * Walks a valid JSON text (or one valid up to its fault) and returns duplicate members and excessive nesting by path.
 * Only called once a fault is known to exist, so it may be slow.
 */
export function locateTextFaults(text: string, rootPath: string, maxDepth: number, limit: number): TextFaults {
  const faults: TextFaults = { duplicates: [], tooDeep: null };
  const levels: Level[] = [];
  let nextPath = rootPath;
  const token = /[{}[\],]|"(?:[^"\\]|\\.)*"(\s*:)?/gs;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const level = levels.at(-1);
    const found = match[0];
    if (found === '{' || found === '[') {
      const path = level?.keys === null ? elementPath(level.path, level.index) : nextPath;
      levels.push({ path, keys: found === '{' ? new Set() : null, index: 0 });
      if (levels.length > maxDepth) {
        faults.tooDeep = path;
        return faults;
      }
    } else if (found === '}' || found === ']') levels.pop();
    else if (found === ',') {
      if (level?.keys === null) level.index += 1;
    } else if (match[1] !== undefined && level?.keys) {
      const key = unescapedKey(found.slice(0, found.length - match[1].length));
      nextPath = memberPath(level.path, key);
      if (level.keys.has(key) && faults.duplicates.length < limit) faults.duplicates.push(nextPath);
      level.keys.add(key);
    }
  }
  return faults;
}

function unescapedKey(literal: string): string {
  try {
    return JSON.parse(literal) as string;
  } catch {
    return literal.slice(1, -1);
  }
}

const SPACE = /[ \t\r\n]*/y;
const ATOM = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const STRING = /"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;

/** Returns where a text stops being JSON, line and column counted from 1; its end if it is truncated. */
export function positionOfSyntaxError(text: string): { line: number; column: number } {
  const before = text.slice(0, offsetOfSyntaxError(text));
  return { line: before.split('\n').length, column: before.length - before.lastIndexOf('\n') };
}

/** Consumes valid tokens until one is not allowed. */
function offsetOfSyntaxError(text: string): number {
  const open: ('{' | '[')[] = [];
  let at = 0;
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    if (!pattern.test(text)) return false;
    at = pattern.lastIndex;
    return true;
  };
  const takeCharacter = (character: string): boolean => {
    take(SPACE);
    if (text[at] !== character) return false;
    at += 1;
    return true;
  };
  const takeName = (): boolean => {
    take(SPACE);
    return take(STRING) && takeCharacter(':');
  };
  const takeValue = (): boolean => {
    for (;;) {
      if (takeCharacter('[')) {
        if (takeCharacter(']')) return true;
        open.push('[');
      } else if (takeCharacter('{')) {
        if (takeCharacter('}')) return true;
        open.push('{');
        if (!takeName()) return false;
      } else return take(STRING) || take(ATOM);
    }
  };
  if (!takeValue()) return at;
  for (let level = open.at(-1); level !== undefined; level = open.at(-1)) {
    if (takeCharacter(level === '{' ? '}' : ']')) open.pop();
    else if (!takeCharacter(',') || (level === '{' && !takeName()) || !takeValue()) return at;
  }
  take(SPACE);
  return at;
}
