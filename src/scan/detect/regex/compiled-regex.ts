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

/** A pattern ready to search latin1 strings in bounded time, whatever they hold. */
export class CompiledRegex {
  readonly parsed: ParsedRegex;
  /** What texts of up to `nativeMax` bytes are searched with: `bounded` where backtracking might take too long, or find something else. */
  readonly engine: 'native' | 'bounded';
  /** Made when it is used first: most rules of a set never are. */
  #native: RegExp | null = null;
  readonly #nativeMax: number;
  #bounded: BoundedMatcher | null = null;

  /** `starts`: places at which one search may begin, at most. Longer texts than `nativeMax` go to the bounded matcher. */
  constructor(parsed: ParsedRegex, nativeMax: number, starts: number) {
    this.parsed = parsed;
    const quick = backtrackingSteps(parsed.node, nativeMax) * starts <= NATIVE_STEPS_MAX;
    const safe = quick && !repeatsEmpty(parsed.node);
    this.engine = safe ? 'native' : 'bounded';
    this.#nativeMax = nativeMax;
    if (!safe) this.#bounded = boundedMatcher(parsed, nativeMax);
  }

  /** The first match from `from` on that begins no later than `lastStart`. */
  search(text: string, from = 0, lastStart = text.length): RegexMatch | null {
    if (this.engine === 'native' && text.length <= this.#nativeMax) {
      this.#native ??= new RegExp(toJavaScript(this.parsed.node), 'g');
      return searchNative(this.#native, text, from, lastStart);
    }
    this.#bounded ??= boundedMatcher(this.parsed, this.#nativeMax);
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
    this.#before =
      halves.before.type === 'empty' ? null : new CompiledRegex({ node: before, groups: 0 }, reach + 1, reach + 1);
    this.#after = new CompiledRegex({ node: halves.after, groups }, reach + span + 2, 1);
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
