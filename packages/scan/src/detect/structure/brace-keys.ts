import type { Keys } from './key-path.ts';
import { holdsName, holdsValue } from './named-beside.ts';

const LINES_MAX = 300;
const ASSIGNMENT = /^\s*"?([A-Za-z_][\w.-]{0,99})"?\s*[=:]/;
const PAIR = /^\s*"?([A-Za-z_][\w.-]{0,99})"?\s*[=:]\s*"([^"]{1,100})"/;

/** Reads blocks in braces with a header on the line that opens them, as in Terraform: `resource "kind" "name" {`. */
export function braceKeys(text: string, at: number): Keys {
  const lines = text.slice(0, at).split('\n').slice(-LINES_MAX);
  const own = lines.pop()!;
  const key = ASSIGNMENT.exec(own)?.[1];
  const keys = key === undefined ? [] : [key];
  let closed = 0;
  let name: string | undefined;
  let isInner = true;
  while (lines.length > 0) {
    const line = lines
      .pop()!
      .replace(/\s*(?:#|\/\/).*$/, '')
      .trimEnd();
    const [, beside, value] = PAIR.exec(line) ?? [];
    if (isInner && closed === 0 && holdsValue(key) && holdsName(beside)) name ??= value;
    if (/[}\]],?$/.test(line) && !/[{[].*[}\]],?$/.test(line)) closed++;
    else if (/[{[]$/.test(line)) {
      if (closed > 0) closed--;
      else {
        isInner = false;
        const header = line.slice(0, -1).replace(/[=:]\s*$/, '');
        keys.unshift(...header.split(/[\s"]+/).filter((word) => /^[\w.-]+$/.test(word)));
      }
    }
  }
  return { keys, isCut: false, ...(name === undefined ? {} : { name }) };
}
