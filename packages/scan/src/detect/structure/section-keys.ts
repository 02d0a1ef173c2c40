import { flowKeys } from './flow-keys.ts';
import type { Keys } from './key-path.ts';

const LINES_UP_MAX = 40;
const ASSIGNMENT = /^\s*(?:export\s+|set\s+)?["']?([A-Za-z_][\w. -]{0,99}?)["']?\s*[=:]/;
const SECTION = /^[ \t]*\[\[?[ \t]*([^\]\n]{1,120}?)[ \t]*\]\]?[ \t]*(?:[#;].*)?\r?$/gm;

/** Reads assignments in sections: TOML, INI, properties, and environment files. */
export function sectionKeys(text: string, at: number): Keys {
  const before = text.slice(0, at);
  const lines = before.split('\n').slice(-LINES_UP_MAX);
  let key = ASSIGNMENT.exec(lines.pop()!)?.[1];
  // A value on several lines: the key is above it.
  while (key === undefined && lines.length > 0) {
    const line = lines.pop()!;
    if (line.trim() === '' || /^\s*\[[^\]]+\]\s*$/.test(line)) break;
    key = ASSIGNMENT.exec(line)?.[1];
  }
  const section = [...before.matchAll(SECTION)].at(-1)?.[1]?.replaceAll(/["']/g, '');
  const keys = [section, key, ...(flowKeys(text, at, '=')?.keys ?? [])].filter((each) => each !== undefined);
  return { keys, isCut: section === undefined && SECTION.test(text) };
}
