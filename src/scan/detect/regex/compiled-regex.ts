import { type ParsedRegex, type RegexNode, sequence } from './ast.ts';
import { backtrackingSteps } from './backtracking.ts';
import { repeatsEmpty } from './analyse.ts';
import { BoundedMatcher, type Spans } from './bounded-matcher.ts';
import { RegexSyntaxError, parseRegex } from './parse.ts';
import { ProgramTooLarge, compileProgram } from './program.ts';
import { toJavaScript } from './translate.ts';

/** Steps of one search beyond which a backtracking engine may take too long: some ten milliseconds. */
const NATIVE_STEPS_MAX = 20_000_000;

/** Bits of memory that one search of the bounded matcher may need. */
const MEMORY_BITS_MAX = 256 * 1024 * 1024;

export interface RegexMatch {
  start: number;
  end: number;
  /** Group by group from 1; undefined where one took no part. */
  groups: readonly (string | undefined)[];
}

/** A pattern as it was analysed: plain data, which one thread makes and others take over. */
export interface RegexPlan {
  pattern: string;
  groups: number;
  /**
   * For JavaScript's engine, which searches texts of up to `native_max` bytes with it. Null where backtracking might take
   * too long, or find something else: the bounded matcher searches them all.
   */
  source: string | null;
  native_max: number;
}

/**
 * Says how a pattern is to be searched. `starts`: places at which one search may begin, at most. Throws RegexSyntaxError
 * where it is too large for any way.
 */
export function planRegex(pattern: string, parsed: ParsedRegex, nativeMax: number, starts: number): RegexPlan {
  const quick = backtrackingSteps(parsed.node, nativeMax) * starts <= NATIVE_STEPS_MAX;
  const safe = quick && !repeatsEmpty(parsed.node);
  if (!safe) boundedMatcher(parsed, nativeMax);
  return { pattern, groups: parsed.groups, source: safe ? toJavaScript(parsed.node) : null, native_max: nativeMax };
}

/** A pattern ready to search latin1 strings in bounded time, whatever they hold. */
export class CompiledRegex {
  readonly #plan: RegexPlan;
  readonly #parse: () => ParsedRegex;
  /** Both are made when they are used first: most patterns of a set never are. */
  #native: RegExp | null = null;
  #bounded: BoundedMatcher | null = null;

  constructor(plan: RegexPlan, parse: () => ParsedRegex = () => parseRegex(plan.pattern)) {
    this.#plan = plan;
    this.#parse = parse;
  }

  /** What texts of up to `native_max` bytes are searched with. */
  get engine(): 'native' | 'bounded' {
    return this.#plan.source === null ? 'bounded' : 'native';
  }

  /** The first match from `from` on that begins no later than `lastStart`. */
  search(text: string, from = 0, lastStart = text.length): RegexMatch | null {
    const { source, native_max } = this.#plan;
    if (source !== null && text.length <= native_max) {
      this.#native ??= new RegExp(source, 'g');
      return searchNative(this.#native, text, from, lastStart);
    }
    this.#bounded ??= boundedMatcher(this.#parse(), native_max);
    const spans = this.#bounded.search(text, from, lastStart);
    return spans === null ? null : matchOf(text, spans);
  }

  test(text: string): boolean {
    return this.search(text) !== null;
  }
}

/** A pattern cut in two at its anchor: the half behind it decides, the half in front only says where the match begins. */
export class HalvedRegex {
  readonly #before: CompiledRegex | null;
  readonly #after: CompiledRegex;
  readonly #sticky: RegExp | null;

  /** `reach` and `span`: bytes of the text before and behind the anchor. */
  constructor(halves: { before: RegexNode; after: RegexNode }, groups: number, reach: number, span: number) {
    const before = sequence([halves.before, { type: 'assertion', kind: 'text_end' }]);
    this.#before = halves.before.type === 'empty' ? null : partRegex({ node: before, groups: 0 }, reach + 1, reach + 1);
    this.#after = partRegex({ node: halves.after, groups }, reach + span + 2, 1);
    this.#sticky = this.#after.engine === 'native' ? new RegExp(toJavaScript(halves.after), 'y') : null;
  }

  /** The match whose anchor stands at `anchor`, if it begins at `from` or behind it. */
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

/** For a part of a pattern, which has no text of its own. */
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
  const [whole, ...groups] = match;
  return { start: match.index, end: match.index + whole.length, groups };
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
