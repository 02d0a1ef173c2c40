import type { AssertionKind } from '@heddle/base/regex/ast';
import type { RegexNode } from './ast.ts';
import { type ByteSet, bytesOf, complement, isFull } from './byte-set.ts';

/** Assertions without flags: JavaScript's own `^` and `$` accept more line ends than RE2's. */
const ASSERTIONS: Readonly<Record<AssertionKind, string>> = {
  text_start: '(?<![^])',
  text_end: '(?![^])',
  line_start: '(?<![^\\n])',
  line_end: '(?![^\\n])',
  word_boundary: '\\b',
  no_word_boundary: '\\B',
};

/**
 * Returns the source of a native RegExp without flags, for latin1 strings of bytes. With `capturing` false, groups do
 * not capture, which is faster if only the match matters.
 */
export function toJavaScript(node: RegexNode, capturing = true): string {
  switch (node.type) {
    case 'empty':
      return '(?:)';
    case 'set':
      return setSource(node.set);
    case 'assertion':
      return ASSERTIONS[node.kind];
    case 'sequence':
      return node.parts.map((part) => toJavaScript(part, capturing)).join('') || '(?:)';
    case 'choice':
      return `(?:${node.branches.map((branch) => toJavaScript(branch, capturing)).join('|')})`;
    case 'capture':
      return `${capturing ? '(' : '(?:'}${toJavaScript(node.node, capturing)})`;
    case 'repeat': {
      const inner = toJavaScript(node.node, capturing);
      const atom = node.node.type === 'set' || node.node.type === 'capture' ? inner : `(?:${inner})`;
      return `${atom}${quantifier(node.min, node.max)}${node.lazy ? '?' : ''}`;
    }
  }
}

function quantifier(min: number, max: number): string {
  if (max === Infinity) return min === 0 ? '*' : min === 1 ? '+' : `{${min},}`;
  if (min === 0 && max === 1) return '?';
  return min === max ? `{${min}}` : `{${min},${max}}`;
}

/** Cached sources of sets: a pattern is translated in several forms. */
const sources = new WeakMap<ByteSet, string>();

function setSource(set: ByteSet): string {
  const known = sources.get(set);
  if (known !== undefined) return known;
  const source = writeSet(set);
  sources.set(set, source);
  return source;
}

function writeSet(set: ByteSet): string {
  if (isFull(set)) return '[^]';
  const bytes = bytesOf(set);
  if (bytes.length === 1) return byteSource(bytes[0]!);
  return bytes.length > 128 ? `[^${ranges(bytesOf(complement(set)))}]` : `[${ranges(bytes)}]`;
}

function ranges(bytes: readonly number[]): string {
  let source = '';
  for (let at = 0; at < bytes.length; at++) {
    const low = bytes[at]!;
    while (bytes[at + 1] === bytes[at]! + 1) at++;
    const high = bytes[at]!;
    source += high - low > 1 ? `${byteSource(low)}-${byteSource(high)}` : byteSource(low);
    if (high - low === 1) source += byteSource(high);
  }
  return source;
}

function byteSource(byte: number): string {
  const character = String.fromCharCode(byte);
  return /[0-9A-Za-z]/.test(character) ? character : `\\x${byte.toString(16).padStart(2, '0')}`;
}
