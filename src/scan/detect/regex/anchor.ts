import { backtrackingWays, spanOf } from './analyse.ts';
import { type RegexNode, sequence } from './ast.ts';
import { bytesOf, lowerCase } from './byte-set.ts';
import { toJavaScript } from './translate.ts';

/** Where in every match of a pattern one of some literals stands, and how a match is told from a false hit there. */
export interface Anchor {
  /** Lower case, as latin1. Every match has one of them at the anchor, in any case of its letters. */
  literals: readonly string[];
  /** Bytes of a match before the anchor, at most; Infinity without a bound. */
  before: number;
  /** Bytes of a match from the anchor on, at most. */
  after: number;
  /** Sticky; what a match must have from the anchor on, as far as `FILTER_SPAN_MAX` bytes. */
  filter: RegExp;
  /** Bytes the filter looks at, at most. */
  filterSpan: number;
}

export const FILTER_SPAN_MAX = 256;

const LITERALS_MAX = 64;
const LITERAL_LENGTH_MAX = 24;
/** Longer literals cost states and save no more false hits. */
const LITERAL_LENGTH_ENOUGH = 12;
const SET_SIZE_MAX = 4;
const FILTER_WAYS_MAX = 20_000;

/**
 * The best anchor of a pattern: its literals each hold one of `keywords`, or are long enough where there are none. Null
 * where every place has a match without a literal.
 */
export function findAnchor(node: RegexNode, keywords: readonly string[], beforeMax: number): Anchor | null {
  const parts = flatten(node);
  let best: { at: number; literals: string[]; score: number } | null = null;
  for (let at = 0; at < parts.length; at++) {
    if (parts[at]!.type === 'assertion') continue;
    const literals = literalsAt(parts.slice(at), keywords);
    if (literals === null) continue;
    const bounded = spanOf(sequence(parts.slice(0, at))).max <= beforeMax;
    const score = Math.min(...literals.map(({ length }) => length)) + (bounded ? 100 : 0);
    if (best === null || score > best.score) best = { at, literals, score };
  }
  if (best === null) return null;
  const before = spanOf(sequence(parts.slice(0, best.at))).max;
  const after = spanOf(sequence(parts.slice(best.at))).max;
  return { literals: best.literals, before, after, ...filterAt(parts, best.at) };
}

/** The parts of a sequence, groups opened: for tests only, where captures do not matter. */
function flatten(node: RegexNode): RegexNode[] {
  if (node.type === 'capture') return flatten(node.node);
  if (node.type === 'sequence') return node.parts.flatMap(flatten);
  return node.type === 'empty' ? [] : [node];
}

function literalsAt(parts: readonly RegexNode[], keywords: readonly string[]): string[] | null {
  const texts = new Set(beginnings(parts, [{ text: '', open: true }]).map(({ text }) => text));
  const literals = new Set<string>();
  for (const text of texts) {
    const ends = keywords.filter((word) => text.includes(word)).map((word) => text.indexOf(word) + word.length);
    if (keywords.length > 0 ? ends.length === 0 : text.length < 3) return null;
    literals.add(text.slice(0, Math.max(LITERAL_LENGTH_ENOUGH, Math.min(...ends, LITERAL_LENGTH_ENOUGH))));
  }
  return withoutExtensions([...literals]);
}

/** A literal that begins with another one is found with it. */
function withoutExtensions(literals: readonly string[]): string[] {
  return literals.filter((literal) => !literals.some((other) => other !== literal && literal.startsWith(other)));
}

interface Beginning {
  text: string;
  /** False where what follows is not known to be one of few literals. */
  open: boolean;
}

/** All texts that a match may begin with, lower case, as far as they are few and certain. */
function beginnings(parts: readonly RegexNode[], from: readonly Beginning[]): Beginning[] {
  let all = [...from];
  for (const part of parts) {
    if (!all.some(({ open }) => open)) break;
    const next = all.flatMap((one) => (one.open ? continued(part, one) : [one]));
    all = next.length > LITERALS_MAX ? all.map(({ text }) => ({ text, open: false })) : next;
  }
  return all;
}

function continued(part: RegexNode, one: Beginning): Beginning[] {
  const closed = [{ text: one.text, open: false }];
  if (one.text.length >= LITERAL_LENGTH_MAX) return closed;
  switch (part.type) {
    case 'empty':
    case 'assertion':
      return [one];
    case 'bytes': {
      const letters = new Set(bytesOf(part.set).map((byte) => String.fromCharCode(lowerCase(byte))));
      if (letters.size === 0 || letters.size > SET_SIZE_MAX) return closed;
      return [...letters].map((letter) => ({ text: one.text + letter, open: true }));
    }
    case 'capture':
      return beginnings(flatten(part.node), [one]);
    case 'sequence':
      return beginnings(flatten(part), [one]);
    case 'choice':
      return part.branches.flatMap((branch) => beginnings(flatten(branch), [one]));
    case 'repeat': {
      if (part.max > LITERAL_LENGTH_MAX && part.min === 0) return closed;
      const once = flatten(part.node);
      let all: Beginning[] = [one];
      for (let round = 0; round < Math.min(part.min, LITERAL_LENGTH_MAX); round++) all = beginnings(once, all);
      if (part.min === part.max) return all;
      if (part.min === 0 && part.max === 1) return [one, ...beginnings(once, all)];
      return all.map(({ text }) => ({ text, open: false }));
    }
  }
}

/** The longest run of parts from the anchor on that is bounded and safe to backtrack over. */
function filterAt(parts: readonly RegexNode[], at: number): { filter: RegExp; filterSpan: number } {
  let first = at;
  while (first > 0 && parts[first - 1]!.type === 'assertion') first--;
  const taken: RegexNode[] = [];
  for (const part of parts.slice(first)) {
    const whole = fits([...taken, part]);
    const piece = whole ? part : least(part);
    if (piece === null || !fits([...taken, piece])) break;
    taken.push(piece);
    if (!whole) break;
  }
  const node = sequence(taken);
  return { filter: new RegExp(toJavaScript(node, false), 'y'), filterSpan: spanOf(node).max };
}

function fits(parts: readonly RegexNode[]): boolean {
  const node = sequence(parts);
  return spanOf(node).max <= FILTER_SPAN_MAX && backtrackingWays(node, FILTER_SPAN_MAX) <= FILTER_WAYS_MAX;
}

/** What of a long repetition must be there in any case. */
function least(part: RegexNode): RegexNode | null {
  if (part.type !== 'repeat' || part.min === 0) return null;
  const each = spanOf(part.node).max;
  const rounds = Math.min(part.min, Math.floor(FILTER_SPAN_MAX / 2 / Math.max(1, each)));
  return rounds === 0 ? null : { ...part, min: rounds, max: rounds };
}
