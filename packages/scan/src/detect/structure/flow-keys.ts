import { jsonKeys } from './json-keys.ts';
import type { Keys } from './key-path.ts';
import { holdsName, holdsValue } from './named-beside.ts';

/** The keys within a collection that is written on the line of its own key. */
export interface Flow extends Pick<Keys, 'keys' | 'name'> {
  /** Where the collection begins. */
  start: number;
}

/** A collection, or the end of one, or a string, that may have brackets in it. */
const TOKEN = /"(?:[^"\\]|\\.)*"?|(?<![\w.])'[^']*'?|[[\]{}]/g;
/** What precedes a collection that is a value. */
const VALUE_BEFORE = /(?:[:=]\s*|^\s*(?:-\s+)+)$/;
const PAIR = /([\w-]{1,60})["']?\s*:\s*["']?([^"',{}[\]\n]{1,100})/g;
/** A string of its own, or one that goes on. */
const QUOTED = /(?<=[\s,[{:=]|^)'[^']*'?/g;
const NAMES_AROUND = 300;

/**
 * Returns the keys that lead to a value within braces or brackets on its line, as in YAML and in inline tables of TOML;
 * null if it is in none.
 *
 * @param separator between a key and its value
 */
export function flowKeys(text: string, at: number, separator: ':' | '='): Flow | null {
  const start = flowStart(text, at);
  if (start === null) return null;
  const before = text.slice(start, at).replaceAll(QUOTED, asJson);
  const { keys } = jsonKeys((separator === ':' ? before : before.replaceAll('=', ':')) + text.slice(at), at - start);
  const name = holdsValue(keys.at(-1)) ? nameAround(text, at) : undefined;
  return { keys, start, ...(name === undefined ? {} : { name }) };
}

/** Returns a string in single quotes as one in JSON, as long as it is. */
function asJson(quoted: string): string {
  const end = quoted.length > 1 && quoted.endsWith("'") ? '"' : '';
  return `"${quoted.slice(1, quoted.length - end.length).replaceAll(/["\\]/g, '_')}${end}`;
}

/** Returns where the outermost collection begins that is open on the line. */
function flowStart(text: string, at: number): number | null {
  const lineStart = text.lastIndexOf('\n', at - 1) + 1;
  const open: number[] = [];
  for (const { 0: token, index } of text.slice(lineStart, at).matchAll(TOKEN)) {
    if (token === '{' || token === '[') open.push(index);
    else if (token === '}' || token === ']') open.pop();
  }
  const [first] = open;
  if (first === undefined || !VALUE_BEFORE.test(text.slice(lineStart, lineStart + first))) return null;
  return lineStart + first;
}

/** Returns the name that a sibling of the value states. */
function nameAround(text: string, at: number): string | undefined {
  const before = text.slice(text.lastIndexOf('{', at - 1) + 1, at);
  const [after = ''] = /^[^{}\n]*/.exec(text.slice(at, at + NAMES_AROUND)) ?? [];
  for (const part of [before, after])
    for (const [, key, value] of part.matchAll(PAIR)) if (holdsName(key)) return value!.trim();
  return undefined;
}
