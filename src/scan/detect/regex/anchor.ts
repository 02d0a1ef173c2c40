import { spanOf } from './analyse.ts';
import { backtrackingSteps } from './backtracking.ts';
import { type RegexNode, choice, sequence } from './ast.ts';
import { type ByteSet, bytesOf, lowerCase, sizeOf } from './byte-set.ts';
import { toJavaScript } from './translate.ts';

/** Where in every match of a pattern one of some literals stands, and how a match is told from a false hit there. */
export interface Anchor {
  /** Lower case, as latin1. Every match has one of them at the anchor, in any case of its letters. */
  literals: readonly string[];
  /** Bytes of a match before the anchor, at most; Infinity without a bound. */
  before: number;
  /** Bytes of a match from the anchor on, at most. */
  after: number;
  /** What a match must have from the anchor on, as far as `FILTER_SPAN_MAX` bytes. */
  filter: RegexNode;
  /** Bytes the filter looks at, at most. */
  filterSpan: number;
  /** The pattern cut at the anchor, where both halves can be matched for themselves. */
  halves: { before: RegexNode; after: RegexNode } | null;
}

export const FILTER_SPAN_MAX = 256;

const LITERALS_MAX = 64;
const LITERAL_LENGTH_MAX = 48;
/** Longer literals cost states and save no more false hits. */
const LITERAL_LENGTH_ENOUGH = 12;
const SET_SIZE_MAX = 4;
/** What a bounded half in front is worth beside the length of the literals. */
const BOUNDED_SCORE = 100;
const SCORE_ENOUGH = BOUNDED_SCORE + LITERAL_LENGTH_ENOUGH;
const FILTER_STEPS_MAX = 100_000;
/** Rounds of a long repetition that a filter asks for. */
const REPEAT_ENOUGH = 32;

/** The filter, for JavaScript's engine; to be used sticky. */
export function filterSource({ filter }: Anchor): string {
  return toJavaScript(filter, false);
}

/**
 * The best anchor of a pattern: its literals each hold one of `keywords`, or are long enough where there are none. Null
 * where every place has a match without a literal.
 */
export function findAnchor(node: RegexNode, keywords: readonly string[], beforeMax: number): Anchor | null {
  const parts = flatten(node);
  let best: { at: number; literals: string[]; score: number } | null = null;
  for (let at = 0; at < parts.length; at++) {
    if (!mayBeLiteral(parts[at]!)) continue;
    const literals = literalsAt(parts.slice(at), keywords);
    if (literals === null) continue;
    const bounded = spanOf(sequence(parts.slice(0, at))).max <= beforeMax;
    const score = Math.min(...literals.map(({ length }) => length)) + (bounded ? BOUNDED_SCORE : 0);
    if (best === null || score > best.score) best = { at, literals, score };
    if (best.score >= SCORE_ENOUGH) break;
  }
  if (best === null) return null;
  const before = spanOf(sequence(parts.slice(0, best.at))).max;
  const after = spanOf(sequence(parts.slice(best.at))).max;
  return { literals: best.literals, before, after, ...filterAt(parts, best.at), halves: cutAt(node, best.at) };
}

/** False for what begins no literal for certain: it need not be looked at closer. */
function mayBeLiteral(part: RegexNode): boolean {
  if (part.type === 'bytes') return sizeOf(part.set) <= 2 * SET_SIZE_MAX;
  return part.type === 'repeat' ? part.min > 0 && mayBeLiteral(part.node) : part.type !== 'assertion';
}

/** The parts of a sequence, groups opened: for tests only, where captures do not matter. */
function flatten(node: RegexNode): RegexNode[] {
  if (node.type === 'capture') return flatten(node.node);
  if (node.type === 'sequence') return node.parts.flatMap(flatten);
  return node.type === 'empty' ? [] : [node];
}

/**
 * Cuts a pattern in front of the part at place `at` of its flattened parts. Null where that is within a group, or where
 * the half before it has groups, or would rather be longer: then only the whole pattern finds what it prefers.
 */
function cutAt(node: RegexNode, at: number): Anchor['halves'] {
  const parts = node.type === 'sequence' ? node.parts : [node];
  let cut = 0;
  for (let flattened = 0; flattened < at; cut++) {
    flattened += flatten(parts[cut]!).length;
    if (flattened > at) return null;
  }
  while (cut > 0 && parts[cut - 1]!.type === 'assertion') cut--;
  const before = parts.slice(0, cut);
  if (!before.every(isModest)) return null;
  return { before: sequence(before), after: sequence(parts.slice(cut)) };
}

/** Without groups, and never longer than it must be. */
function isModest(node: RegexNode): boolean {
  switch (node.type) {
    case 'capture':
    case 'choice':
      return false;
    case 'sequence':
      return node.parts.every(isModest);
    case 'repeat':
      return (node.lazy || node.min === node.max) && isModest(node.node);
    case 'empty':
    case 'bytes':
    case 'assertion':
      return true;
  }
}

function literalsAt(parts: readonly RegexNode[], keywords: readonly string[]): string[] | null {
  const texts = new Set(beginnings(parts, [{ text: '', open: true }], keywords).map(({ text }) => text));
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
function beginnings(parts: readonly RegexNode[], from: readonly Beginning[], keywords: readonly string[]): Beginning[] {
  let all = [...from];
  for (const part of parts) {
    if (!all.some(({ open }) => open)) break;
    const next = all.flatMap((one) => (one.open ? continued(part, one, keywords) : [one]));
    all = next.length > LITERALS_MAX ? all.map(({ text }) => ({ text, open: false })) : next;
  }
  return all;
}

function continued(part: RegexNode, one: Beginning, keywords: readonly string[]): Beginning[] {
  const closed = [{ text: one.text, open: false }];
  if (isEnough(one.text, keywords)) return closed;
  switch (part.type) {
    case 'empty':
    case 'assertion':
      return [one];
    case 'bytes': {
      const letters = fewLetters(part.set);
      return letters === null ? closed : letters.map((letter) => ({ text: one.text + letter, open: true }));
    }
    case 'capture':
      return beginnings(flatten(part.node), [one], keywords);
    case 'sequence':
      return beginnings(flatten(part), [one], keywords);
    case 'choice':
      return part.branches.flatMap((branch) => beginnings(flatten(branch), [one], keywords));
    case 'repeat': {
      if (part.max > LITERAL_LENGTH_MAX && part.min === 0) return closed;
      const once = flatten(part.node);
      let all: Beginning[] = [one];
      for (let round = 0; round < Math.min(part.min, LITERAL_LENGTH_MAX); round++)
        all = beginnings(once, all, keywords);
      if (part.min === part.max) return all;
      if (part.min === 0 && part.max === 1) return [one, ...beginnings(once, all, keywords)];
      return all.map(({ text }) => ({ text, open: false }));
    }
  }
}

/** Longer texts tell nothing more; a keyword may end late. */
function isEnough(text: string, keywords: readonly string[]): boolean {
  if (text.length < LITERAL_LENGTH_ENOUGH) return false;
  return (
    text.length >= LITERAL_LENGTH_MAX || keywords.length === 0 || keywords.some((keyword) => text.includes(keyword))
  );
}

/** The letters of a set in lower case, if they are few. */
function fewLetters(set: ByteSet): string[] | null {
  if (sizeOf(set) > 2 * SET_SIZE_MAX) return null;
  const letters = new Set(bytesOf(set).map((byte) => String.fromCharCode(lowerCase(byte))));
  return letters.size === 0 || letters.size > SET_SIZE_MAX ? null : [...letters];
}

/** The longest run of parts from the anchor on that is bounded and safe to backtrack over. */
function filterAt(parts: readonly RegexNode[], at: number): { filter: RegexNode; filterSpan: number } {
  let first = at;
  while (first > 0 && parts[first - 1]!.type === 'assertion') first--;
  const taken: RegexNode[] = [];
  for (const part of parts.slice(first)) {
    if (fits([...taken, part])) {
      taken.push(part);
      continue;
    }
    const beginning = leastOf(part).node;
    if (fits([...taken, beginning])) taken.push(beginning);
    break;
  }
  const node = sequence(taken);
  return { filter: node, filterSpan: spanOf(node).max };
}

function fits(parts: readonly RegexNode[]): boolean {
  const node = sequence(parts);
  return spanOf(node).max <= FILTER_SPAN_MAX && backtrackingSteps(node, FILTER_SPAN_MAX) <= FILTER_STEPS_MAX;
}

/** What every match of a node begins with, as far as it is of one length; `whole` where that is all of it. */
function leastOf(node: RegexNode): { node: RegexNode; whole: boolean } {
  switch (node.type) {
    case 'empty':
    case 'bytes':
    case 'assertion':
      return { node, whole: true };
    case 'capture':
      return leastOf(node.node);
    case 'sequence': {
      const parts: RegexNode[] = [];
      for (const part of node.parts) {
        const least = leastOf(part);
        parts.push(least.node);
        if (!least.whole) return { node: sequence(parts), whole: false };
      }
      return { node: sequence(parts), whole: true };
    }
    case 'choice': {
      const branches = node.branches.map(leastOf);
      const length = spanOf(node);
      const whole = length.min === length.max && branches.every((branch) => branch.whole);
      return { node: choice(branches.map((branch) => branch.node)), whole };
    }
    case 'repeat': {
      const each = leastOf(node.node);
      const rounds = each.whole ? Math.min(node.min, REPEAT_ENOUGH) : Math.min(node.min, 1);
      const whole = each.whole && rounds === node.max;
      return { node: { ...node, node: each.node, min: rounds, max: rounds }, whole };
    }
  }
}
