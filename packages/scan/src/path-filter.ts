export interface PathPatterns {
  /** If not empty, only matching paths pass. */
  include: readonly string[];
  /** Matching paths do not pass. */
  exclude: readonly string[];
}

/**
 * Returns a test of paths (with slashes) against globs: `*` and `?` within a name, `**` across names, `[a-z]`,
 * `{a,b}`. A pattern matches at any depth unless it begins with a slash, and also matches everything below a matching
 * directory. Its time is at most the length of the path times that of the globs, whatever they are.
 */
export function pathFilter({ include, exclude }: PathPatterns): (path: string) => boolean {
  const included = include.length === 0 ? null : new GlobMatcher(include);
  const excluded = exclude.length === 0 ? null : new GlobMatcher(exclude);
  return (path) => included?.matches(path) !== false && excluded?.matches(path) !== true;
}

type CharacterTest = (char: string) => boolean;

/** Part of a glob. */
type GlobPart =
  | { readonly type: 'one' | 'any'; readonly test: CharacterTest }
  | { readonly type: 'folders' }
  | { readonly type: 'choice'; readonly branches: readonly (readonly GlobPart[])[] };

/** A place in a glob: takes a character, or without a test leads on at once. */
interface State {
  readonly index: number;
  readonly test: CharacterTest | null;
  readonly next: State[];
}

const isAny: CharacterTest = () => true;
const isInName: CharacterTest = (char) => char !== '/';
/** What ends a name: `!` separates an archive from the names in it. */
const isBoundary = (char: string | undefined): boolean => char === undefined || char === '/' || char === '!';

const NONE: readonly State[] = [];

/** Follows all alternatives of several globs at once. */
class GlobMatcher {
  /** Of all globs, and of those that match at any depth. */
  readonly #starts: State[] = [];
  readonly #floating: State[] = [];
  readonly #end: State;
  #states = 0;

  constructor(globs: readonly string[]) {
    this.#end = this.#state(null, []);
    for (const glob of globs) {
      const body = glob.replace(/^\.?\/+/, '').replace(/\/+$/, '');
      const start = this.#build(partsOf(body), this.#end);
      this.#starts.push(start);
      if (!glob.startsWith('/')) this.#floating.push(start);
    }
  }

  matches(path: string): boolean {
    const seenAt = new Int32Array(this.#states).fill(-1);
    let pending: State[] = [];
    for (let at = 0; ; at += 1) {
      for (const start of this.#startsAt(path, at)) pending.push(start);
      const char = path[at];
      const following: State[] = [];
      for (let state = pending.pop(); state !== undefined; state = pending.pop()) {
        if (seenAt[state.index] === at) continue;
        seenAt[state.index] = at;
        if (state === this.#end && isBoundary(char)) return true;
        if (state.test === null) for (const next of state.next) pending.push(next);
        else if (char !== undefined && state.test(char)) following.push(state.next[0]!);
      }
      if (char === undefined) return false;
      pending = following;
    }
  }

  #startsAt(path: string, at: number): readonly State[] {
    if (at === 0 || (at === 1 && path[0] === '/')) return this.#starts;
    return isBoundary(path[at - 1]) ? this.#floating : NONE;
  }

  #state(test: CharacterTest | null, next: State[]): State {
    this.#states += 1;
    return { index: this.#states - 1, test, next };
  }

  /** Returns the first state of parts that lead to another one. */
  #build(parts: readonly GlobPart[], end: State): State {
    return parts.reduceRight((next, part) => this.#buildPart(part, next), end);
  }

  #buildPart(part: GlobPart, next: State): State {
    switch (part.type) {
      case 'one':
        return this.#state(part.test, [next]);
      case 'any':
        return this.#loop(part.test, next);
      case 'folders':
        return this.#state(null, [next, this.#loop(isAny, this.#state(is('/'), [next]))]);
      case 'choice':
        return this.#state(
          null,
          part.branches.map((branch) => this.#build(branch, next)),
        );
    }
  }

  #loop(test: CharacterTest, next: State): State {
    const loop = this.#state(null, [next]);
    loop.next.push(this.#state(test, [loop]));
    return loop;
  }
}

function partsOf(glob: string): readonly GlobPart[] {
  const whole: GlobPart[] = [];
  /** Alternatives that are not closed yet, innermost last. */
  const open: GlobPart[][][] = [];
  let parts = whole;
  for (let at = 0; at < glob.length; at += 1) {
    const char = glob[at]!;
    if (char === '*' && glob[at + 1] === '*') {
      const isWholeName = (at === 0 || glob[at - 1] === '/') && glob[at + 2] === '/';
      parts.push(isWholeName ? { type: 'folders' } : { type: 'any', test: isAny });
      at += isWholeName ? 2 : 1;
    } else if (char === '*') parts.push({ type: 'any', test: isInName });
    else if (char === '?') parts.push({ type: 'one', test: isInName });
    else if (char === '[' && glob.includes(']', at + 2)) {
      const end = glob.indexOf(']', at + 2);
      parts.push({ type: 'one', test: setOf(glob.slice(at + 1, end)) });
      at = end;
    } else if (char === '{' && glob.includes('}', at)) {
      const branches: GlobPart[][] = [[]];
      parts.push({ type: 'choice', branches });
      open.push(branches);
      parts = branches[0]!;
    } else if (char === '}' && open.length > 0) {
      open.pop();
      // What follows continues after the choice, which is the last part of the enclosing branch.
      parts = open.at(-1)?.at(-1) ?? whole;
    } else if (char === ',' && open.length > 0) {
      parts = [];
      open.at(-1)!.push(parts);
    } else if (char === '\\' && at + 1 < glob.length) parts.push({ type: 'one', test: is(glob[(at += 1)]!) });
    else parts.push({ type: 'one', test: is(char) });
  }
  return whole;
}

function is(expected: string): CharacterTest {
  return (char) => char === expected;
}

/**
 * Returns the test of a set such as `a-z_` or `!0-9`; a slash is in none.
 *
 * @throws SyntaxError for a range that is out of order
 */
function setOf(members: string): CharacterTest {
  const isNegated = members.startsWith('!') || members.startsWith('^');
  const body = isNegated ? members.slice(1) : members;
  const ranges: [low: string, high: string][] = [];
  for (let at = 0; at < body.length; at += 1) {
    const isRange = body[at + 1] === '-' && at + 2 < body.length;
    const low = body[at]!;
    const high = isRange ? body[at + 2]! : low;
    if (low > high) throw new SyntaxError(`the range ${low}-${high} is out of order`);
    ranges.push([low, high]);
    if (isRange) at += 2;
  }
  return (char) => char !== '/' && isNegated !== ranges.some(([low, high]) => char >= low && char <= high);
}
