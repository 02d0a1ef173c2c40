import { sequence } from '@heddle/base/regex/ast';
import { RegexSyntaxError } from '@heddle/base/regex/parse';
import type { ParsedRegex, RegexNode } from './ast.ts';
import { backtrackingSteps } from './backtracking.ts';
import { beginsWithText, repeatsEmpty } from './analyse.ts';
import { BoundedMatcher, type Spans } from './bounded-matcher.ts';
import { parseRegex } from './parse.ts';
import { ProgramTooLarge, compileProgram } from './program.ts';
import { toJavaScript } from './translate.ts';

/** Maximum steps of one search in a backtracking engine: some ten milliseconds. */
const NATIVE_STEPS_MAX = 20_000_000;

/** Maximum bits of memory for one search of the bounded matcher. */
const MEMORY_BITS_MAX = 256 * 1024 * 1024;

export interface RegexMatch {
  start: number;
  end: number;
  /** Groups from 1; undefined if a group took no part. */
  groups: readonly (string | undefined)[];
}

/** An analysed pattern: plain data that one thread creates and others load. */
export interface RegexPlan {
  pattern: string;
  groups: number;
  /**
   * Source for JavaScript's engine, used for strings of up to `native_max` bytes. Null if backtracking might take too
   * long or find something else: the bounded matcher then searches all strings.
   */
  source: string | null;
  native_max: number;
}

/**
 * Decides how a pattern is searched. `starts`: maximum start positions of one search. Throws RegexSyntaxError if the
 * pattern is too large for either engine.
 */
export function planRegex(pattern: string, parsed: ParsedRegex, nativeMax: number, starts: number): RegexPlan {
  const tried = beginsWithText(parsed.node) ? 1 : starts;
  const quick = backtrackingSteps(parsed.node, nativeMax) * tried <= NATIVE_STEPS_MAX;
  const safe = quick && !repeatsEmpty(parsed.node);
  if (!safe) boundedMatcher(parsed, nativeMax);
  return { pattern, groups: parsed.groups, source: safe ? toJavaScript(parsed.node) : null, native_max: nativeMax };
}

/** A pattern that searches latin1 strings in bounded time, whatever their content. */
export class CompiledRegex {
  readonly #plan: RegexPlan;
  readonly #parse: () => ParsedRegex;
  /** Created on first use, since most patterns of a set are never used. */
  #native: RegExp | null = null;
  #bounded: BoundedMatcher | null = null;

  constructor(plan: RegexPlan, parse: () => ParsedRegex = () => parseRegex(plan.pattern)) {
    this.#plan = plan;
    this.#parse = parse;
  }

  get pattern(): string {
    return this.#plan.pattern;
  }

  /** The engine for strings of up to `native_max` bytes. */
  get engine(): 'native' | 'bounded' {
    return this.#plan.source === null ? 'bounded' : 'native';
  }

  /** Returns the first match from `from` on that begins no later than `lastStart`. */
  search(text: string, from = 0, lastStart = text.length): RegexMatch | null {
    const native = this.#nativeFor(text);
    if (native !== null) return searchNative(native, text, from, lastStart);
    const { native_max } = this.#plan;
    this.#bounded ??= boundedMatcher(this.#parse(), native_max);
    const spans = this.#bounded.search(text, from, lastStart);
    return spans === null ? null : matchOf(text, spans);
  }

  test(text: string): boolean {
    const native = this.#nativeFor(text);
    if (native === null) return this.search(text) !== null;
    native.lastIndex = 0;
    return native.test(text);
  }

  #nativeFor(text: string): RegExp | null {
    const { source, native_max } = this.#plan;
    if (source === null || text.length > native_max) return null;
    return (this.#native ??= new RegExp(source, 'g'));
  }
}

/** A pattern cut at its anchor: the second half decides, the first one only locates the start of the match. */
export class HalvedRegex {
  readonly #before: CompiledRegex | null;
  readonly #after: CompiledRegex;
  readonly #sticky: RegExp | null;

  /** `reach` and `span`: bytes of the string before and after the anchor. */
  constructor(halves: { before: RegexNode; after: RegexNode }, groups: number, reach: number, span: number) {
    const before = sequence([halves.before, { type: 'assertion', kind: 'text_end' }]);
    this.#before = halves.before.type === 'empty' ? null : partRegex({ node: before, groups: 0 }, reach + 1, reach + 1);
    this.#after = partRegex({ node: halves.after, groups }, reach + span + 2, 1);
    this.#sticky = this.#after.engine === 'native' ? new RegExp(toJavaScript(halves.after), 'y') : null;
  }

  /** Returns the match whose anchor is at `anchor`, if it begins at `from` or later. */
  searchAt(text: string, from: number, anchor: number): RegexMatch | null {
    const after =
      this.#sticky === null
        ? this.#after.search(text, anchor, anchor)
        : searchNative(this.#sticky, text, anchor, anchor);
    if (after === null || this.#before === null) return after;
    const before = this.#before.search(text.slice(0, anchor), from);
    return before === null ? null : { ...after, start: before.start };
  }
}

/** Compiles a part of a pattern, which has no source of its own. */
function partRegex(parsed: ParsedRegex, nativeMax: number, starts: number): CompiledRegex {
  return new CompiledRegex(planRegex('', parsed, nativeMax, starts), () => parsed);
}

function boundedMatcher(parsed: ParsedRegex, textMax: number): BoundedMatcher {
  let program;
  try {
    program = compileProgram(parsed.node);
  } catch (error) {
    if (error instanceof ProgramTooLarge) throw new RegexSyntaxError(0, error.message);
    throw error;
  }
  if (program.length * textMax > MEMORY_BITS_MAX) {
    throw new RegexSyntaxError(0, `its ${program.length} instructions over ${textMax} bytes need too much memory`);
  }
  return new BoundedMatcher(program, parsed.groups);
}

function searchNative(regex: RegExp, text: string, from: number, lastStart: number): RegexMatch | null {
  regex.lastIndex = from;
  const match = regex.exec(text);
  if (match === null || match.index > lastStart) return null;
  return { start: match.index, end: match.index + match[0].length, groups: match.slice(1) };
}

function matchOf(text: string, spans: Spans): RegexMatch {
  const groups: (string | undefined)[] = [];
  for (let slot = 2; slot < spans.length; slot += 2) {
    groups.push(spans[slot + 1]! < 0 ? undefined : text.slice(spans[slot], spans[slot + 1]));
  }
  return { start: spans[0]!, end: spans[1]!, groups };
}

/** Throws RegexSyntaxError. */
export function compileRegex(pattern: string, nativeMax: number, starts = nativeMax): CompiledRegex {
  const parsed = parseRegex(pattern);
  return new CompiledRegex(planRegex(pattern, parsed, nativeMax, starts), () => parsed);
}
