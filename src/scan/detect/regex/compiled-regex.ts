import type { ParsedRegex } from './ast.ts';
import { backtrackingWays } from './analyse.ts';
import { BoundedMatcher, type Spans } from './bounded-matcher.ts';
import { RegexSyntaxError, parseRegex } from './parse.ts';
import { ProgramTooLarge, compileProgram } from './program.ts';
import { toJavaScript } from './translate.ts';

/** Ways to try one text beyond which a backtracking engine may take too long. */
const WAYS_MAX = 2_000_000;

/** Bits of memory that one search of the bounded matcher may need. */
const MEMORY_BITS_MAX = 256 * 1024 * 1024;

export interface RegexMatch {
  start: number;
  end: number;
  /** Group by group from 1; undefined where one took no part. */
  groups: readonly (string | undefined)[];
}

/** A pattern ready to search latin1 strings in bounded time, whatever they hold. */
export class CompiledRegex {
  readonly parsed: ParsedRegex;
  /** What texts of up to `nativeMax` bytes are searched with: `bounded` where backtracking might take too long. */
  readonly engine: 'native' | 'bounded';
  readonly #native: RegExp | null;
  readonly #nativeMax: number;
  #bounded: BoundedMatcher | null = null;

  /** `starts`: places at which one search may begin, at most. Longer texts than `nativeMax` go to the bounded matcher. */
  constructor(parsed: ParsedRegex, nativeMax: number, starts: number) {
    this.parsed = parsed;
    const safe = backtrackingWays(parsed.node, nativeMax) * starts <= WAYS_MAX;
    this.engine = safe ? 'native' : 'bounded';
    this.#native = safe ? new RegExp(toJavaScript(parsed.node), 'g') : null;
    this.#nativeMax = nativeMax;
    if (!safe) this.#bounded = boundedMatcher(parsed, nativeMax);
  }

  /** The first match from `from` on that begins no later than `lastStart`. */
  search(text: string, from = 0, lastStart = text.length): RegexMatch | null {
    if (this.#native !== null && text.length <= this.#nativeMax)
      return searchNative(this.#native, text, from, lastStart);
    this.#bounded ??= boundedMatcher(this.parsed, this.#nativeMax);
    const spans = this.#bounded.search(text, from, lastStart);
    return spans === null ? null : matchOf(text, spans);
  }

  test(text: string): boolean {
    return this.search(text) !== null;
  }
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
  return new CompiledRegex(parseRegex(pattern), nativeMax, starts);
}
