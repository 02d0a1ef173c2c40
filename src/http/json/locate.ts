import { elementPath, memberPath } from './path.ts';

/** A fault of the text itself, found by walking it with the path at hand. */
export interface TextFaults {
  /** Paths of members whose name their object holds already. */
  duplicates: string[];
  /** The first path that lies deeper than allowed. */
  tooDeep: string | null;
}

interface Level {
  path: string;
  keys: Set<string> | null;
  index: number;
}

/**
 * Walks a valid JSON text (or one valid up to its fault) and names repeated members and excessive nesting by path.
 * Only called once a fault is known to be there, so it may be slow.
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

/** Where parsing stopped, counted from 1, from the message of the engine's own parser. */
export function positionOfSyntaxError(message: string, text: string): { line: number; column: number } {
  const offset = /at position (\d+)/.exec(message)?.[1];
  const before = text.slice(0, offset === undefined ? text.length : Number(offset));
  const line = before.split('\n').length;
  return { line, column: before.length - before.lastIndexOf('\n') };
}
