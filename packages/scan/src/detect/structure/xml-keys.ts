import type { Keys } from './key-path.ts';
import { holdsValue } from './named-beside.ts';

const TAG = /<(\/?)([A-Za-z_][\w:.-]{0,99})((?:[^<>"']|"[^"]*"|'[^']*')*?)(\/?)>/g;
const NAME_ATTRIBUTE = /\s(?:key|name|id|property|param)\s*=\s*["']([^"']{1,100})["']/i;
const ATTRIBUTE_END = /\s([A-Za-z_][\w:.-]{0,99})\s*=\s*["'][^"'<>]*$/;
const NAMED_BEFORE = /<(?:key|name)>\s*([^<>]{1,100}?)\s*<\/(?:key|name)>\s*$/i;

/** Reads the elements around a value in XML, and the attribute or sibling that names it. */
export function xmlKeys(text: string, at: number): Keys {
  const open = text.lastIndexOf('<', at - 1);
  const inTag = open > text.lastIndexOf('>', at - 1);
  const before = text.slice(0, inTag ? open : at);
  const path = elementsAround(before);
  if (inTag) {
    const tag = text.slice(open, text.indexOf('>', at) + 1 || undefined);
    const element = /^<([A-Za-z_][\w:.-]{0,99})/.exec(tag)?.[1];
    const attribute = ATTRIBUTE_END.exec(text.slice(open, at))?.[1];
    if (element === undefined) return path;
    const own = attribute === undefined ? element : `${element}@${attribute}`;
    // Another attribute has its own name: `<user name="shop" password="…">`.
    const isNamed = attribute === undefined || holdsValue(attribute);
    return { ...path, keys: [...path.keys, own], ...named(isNamed ? NAME_ATTRIBUTE.exec(tag)?.[1] : undefined) };
  }
  const holder = text.lastIndexOf('<', at - 1);
  const tag = text.slice(holder, at);
  const name = NAME_ATTRIBUTE.exec(tag)?.[1] ?? NAMED_BEFORE.exec(text.slice(Math.max(0, holder - 300), holder))?.[1];
  return { ...path, ...named(name) };
}

function named(name: string | undefined): { name?: string } {
  return name === undefined ? {} : { name };
}

function elementsAround(before: string): Keys {
  const keys: string[] = [];
  let closed = 0;
  for (const [, slash, name, , empty] of [...before.matchAll(TAG)].reverse()) {
    if (slash !== '') closed++;
    else if (empty !== '') continue;
    else if (closed > 0) closed--;
    else keys.unshift(name!);
  }
  return { keys, isCut: true };
}
