import { spanOf } from './analyse.ts';
import { backtrackingSteps } from './backtracking.ts';
import { choice, sequence } from '@heddle/base/regex/ast';
import type { RegexNode } from './ast.ts';
import { type ByteSet, bytesOf, lowerCase, sizeOf } from './byte-set.ts';
import { toJavaScript } from './translate.ts';

/** The position in every match at which one of a few literals occurs. */
export interface Anchor {
  /** Its place among the parts of the pattern, for `cutAt` and the like. */
  at: number;
  /** Lower case, as latin1. Every match has one of them at the anchor, in any case. */
  literals: readonly string[];
  /** Maximum bytes of a match before the anchor; Infinity if unbounded. */
  before: number;
  /** Maximum bytes of a match from the anchor on. */
  after: number;
}

/** A pattern cut at its anchor. */
export interface Halves {
  before: RegexNode;
  after: RegexNode;
}

export const FILTER_SPAN_MAX = 256;

const LITERALS_MAX = 64;
const LITERAL_LENGTH_MAX = 48;
/** Longer literals cost states without avoiding more false hits. */
const LITERAL_LENGTH_ENOUGH = 10;
const SET_SIZE_MAX = 4;
/** Weight of a bounded half in front, relative to the length of the literals. */
const BOUNDED_SCORE = 100;
const SCORE_ENOUGH = BOUNDED_SCORE + LITERAL_LENGTH_ENOUGH;
const FILTER_STEPS_MAX = 100_000;
/** Longer parts of a pattern that is too long for a filter are in it with their beginnings only. */
const FILTER_PART_MAX = 64;
/** Maximum repetitions that a filter requires of a long repeat. */
const REPEAT_ENOUGH = 32;

/** Returns the source of `filterAt` for JavaScript's engine, for use with the sticky flag. */
export function filterSource(node: RegexNode, at: number): string {
  return toJavaScript(filterAt(node, at), false);
}

/**
 * Returns the best anchor of a pattern: each literal contains one of `keywords`, or is long enough if there are none.
 * Returns null if every position has a match without a literal.
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
  return { at: best.at, literals: best.literals, before, after };
}

/** Returns false for a part that cannot begin a literal and needs no closer inspection. */
function mayBeLiteral(part: RegexNode): boolean {
  if (part.type === 'set') return sizeOf(part.set) <= 2 * SET_SIZE_MAX;
  return part.type === 'repeat' ? part.min > 0 && mayBeLiteral(part.node) : part.type !== 'assertion';
}

/** Flattens a sequence and its groups: only for tests that ignore captures. */
function flatten(node: RegexNode): RegexNode[] {
  if (node.type === 'capture') return flatten(node.node);
  if (node.type === 'sequence') return node.parts.flatMap(flatten);
  return node.type === 'empty' ? [] : [node];
}

/**
 * Cuts a pattern at an anchor. Returns null if that is within a group, or if the half before it has groups or prefers
 * longer matches: then only the whole pattern finds the preferred match.
 */
export function cutAt(node: RegexNode, at: number): Halves | null {
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

/** Returns whether the node has no groups and never prefers a longer match. */
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
    case 'set':
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

/** Drops literals that begin with another one: they are found with it. */
function withoutExtensions(literals: readonly string[]): string[] {
  return literals.filter((literal) => !literals.some((other) => other !== literal && literal.startsWith(other)));
}

interface Beginning {
  text: string;
  /** False if what follows may be something other than one of a few literals. */
  open: boolean;
}

/** Returns all strings that a match may begin with, in lower case, as far as they are few and certain. */
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
    case 'set': {
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

/** Longer strings add no information; a keyword may end late. */
function isEnough(text: string, keywords: readonly string[]): boolean {
  if (text.length < LITERAL_LENGTH_ENOUGH) return false;
  return (
    text.length >= LITERAL_LENGTH_MAX || keywords.length === 0 || keywords.some((keyword) => text.includes(keyword))
  );
}

/** Returns the letters of a set in lower case, if they are few. */
function fewLetters(set: ByteSet): string[] | null {
  if (sizeOf(set) > 2 * SET_SIZE_MAX) return null;
  const letters = new Set(bytesOf(set).map((byte) => String.fromCharCode(lowerCase(byte))));
  return letters.size === 0 || letters.size > SET_SIZE_MAX ? null : [...letters];
}

/** Returns all of a match from an anchor on, without groups. */
export function restAt(node: RegexNode, at: number): RegexNode {
  return sequence(partsAt(node, at));
}

function partsAt(node: RegexNode, at: number): readonly RegexNode[] {
  const parts = flatten(node);
  let first = at;
  while (first > 0 && parts[first - 1]!.type === 'assertion') first--;
  return parts.slice(first);
}

/**
 * Returns what a match must have from an anchor on, within `FILTER_SPAN_MAX` bytes: the longest run of parts that is
 * bounded and safe for backtracking.
 */
export function filterAt(node: RegexNode, at: number): RegexNode {
  const taken: RegexNode[] = [];
  for (const part of partsAt(node, at)) {
    if (fits([...taken, part])) {
      taken.push(part);
      continue;
    }
    const beginning = [beginningOf(part), leastOf(part).node].find((each) => fits([...taken, each]));
    if (beginning !== undefined) taken.push(beginning);
    break;
  }
  return sequence(taken);
}

function fits(parts: readonly RegexNode[]): boolean {
  const node = sequence(parts);
  return spanOf(node).max <= FILTER_SPAN_MAX && backtrackingSteps(node, FILTER_SPAN_MAX) <= FILTER_STEPS_MAX;
}

/** Returns what every match of a node begins with: its parts up to the first long one, and the least of that one. */
function beginningOf(node: RegexNode): RegexNode {
  switch (node.type) {
    case 'capture':
      return beginningOf(node.node);
    case 'sequence': {
      const long = node.parts.findIndex((part) => spanOf(part).max > FILTER_PART_MAX);
      return long === -1 ? node : sequence([...node.parts.slice(0, long), beginningOf(node.parts[long]!)]);
    }
    case 'choice':
      return choice(node.branches.map(beginningOf));
    case 'repeat': {
      if (spanOf(node).max <= FILTER_PART_MAX) return node;
      const least = leastOf(node).node;
      return node.min > 0 && spanOf(least).max === 0 ? beginningOf(node.node) : least;
    }
    case 'empty':
    case 'set':
    case 'assertion':
      return node;
  }
}

/** Returns the fixed-length prefix of every match of a node; `whole` if that is all of it. */
function leastOf(node: RegexNode): { node: RegexNode; whole: boolean } {
  switch (node.type) {
    case 'empty':
    case 'set':
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
