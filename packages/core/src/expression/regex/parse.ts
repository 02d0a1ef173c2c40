import { classEscape, parseClass, singleEscape } from './classes.ts';
import type { CharacterTest } from './classes.ts';

/** Pattern as a tree. Groups leave no trace: a match only returns yes or no. */
export type PatternNode =
  | { type: 'empty' }
  | { type: 'character'; test: CharacterTest }
  | { type: 'assertion'; kind: Assertion }
  | { type: 'sequence' | 'choice'; nodes: PatternNode[] }
  | { type: 'repeat'; node: PatternNode; min: number; max: number };

export type Assertion = 'text_start' | 'text_end' | 'line_start' | 'line_end' | 'word_edge' | 'no_word_edge';

/** Maximum characters of a pattern. */
const PATTERN_CHARS_MAX = 1000;
/** Maximum bound of `{n,m}`. */
const REPEAT_MAX = 1000;
const GROUPS_DEPTH_MAX = 50;

interface Flags {
  ignoreCase: boolean;
  dotAll: boolean;
  multiline: boolean;
}

/** Parses a pattern in RE2 syntax; throws an Error that names the fault and its position. */
export function parsePattern(source: string): PatternNode {
  if (source.length > PATTERN_CHARS_MAX) throw new Error(`a pattern may have at most ${PATTERN_CHARS_MAX} characters`);
  const parser = new PatternParser(source);
  return parser.parse();
}

class PatternParser {
  readonly #characters: readonly string[];
  #at = 0;
  #depth = 0;

  constructor(source: string) {
    this.#characters = Array.from(source);
  }

  parse(): PatternNode {
    const node = this.#choice({ ignoreCase: false, dotAll: false, multiline: false });
    if (this.#at < this.#characters.length) this.#fail('has an unmatched ")"');
    return node;
  }

  #fail(message: string): never {
    const source = this.#characters.join('');
    throw new Error(`the pattern ${JSON.stringify(source.slice(0, 60))} ${message} (at ${this.#at + 1})`);
  }

  #choice(flags: Flags): PatternNode {
    this.#depth += 1;
    if (this.#depth > GROUPS_DEPTH_MAX) this.#fail(`nests deeper than ${GROUPS_DEPTH_MAX} groups`);
    const own = { ...flags };
    const nodes = [this.#sequence(own)];
    while (this.#take('|')) nodes.push(this.#sequence(own));
    this.#depth -= 1;
    return nodes.length === 1 ? nodes[0]! : { type: 'choice', nodes };
  }

  #sequence(flags: Flags): PatternNode {
    const nodes: PatternNode[] = [];
    for (;;) {
      const next = this.#characters[this.#at];
      if (next === undefined || next === '|' || next === ')') return { type: 'sequence', nodes };
      const atom = this.#atom(flags);
      nodes.push(this.#repeated(atom));
    }
  }

  #repeated(atom: PatternNode): PatternNode {
    const bounds = this.#bounds();
    if (bounds === null) return atom;
    // Greediness cannot change a yes-or-no answer.
    this.#take('?');
    if (this.#bounds() !== null) this.#fail('repeats a repetition');
    return { type: 'repeat', node: atom, ...bounds };
  }

  #bounds(): { min: number; max: number } | null {
    if (this.#take('*')) return { min: 0, max: Infinity };
    if (this.#take('+')) return { min: 1, max: Infinity };
    if (this.#take('?')) return { min: 0, max: 1 };
    const text = this.#characters.slice(this.#at, this.#at + 12).join('');
    const counted = /^\{(\d{1,4})(,(\d{0,4}))?\}/.exec(text);
    if (counted === null) return null;
    this.#at += counted[0].length;
    const min = Number(counted[1]);
    const max = counted[2] === undefined ? min : counted[3] === '' ? Infinity : Number(counted[3]);
    if (min > REPEAT_MAX || (max !== Infinity && max > REPEAT_MAX)) this.#fail(`repeats more than ${REPEAT_MAX} times`);
    if (max < min) this.#fail('repeats at most fewer times than at least');
    return { min, max };
  }

  #atom(flags: Flags): PatternNode {
    const character = this.#characters[this.#at]!;
    this.#at += 1;
    switch (character) {
      case '(':
        return this.#group(flags);
      case '[': {
        const parsed = parseClass(this.#characters, this.#at, flags.ignoreCase);
        if (parsed === null) return this.#fail('has a class "[" that is not closed, or a range that is none');
        this.#at = parsed.next;
        return { type: 'character', test: parsed.test };
      }
      case '.':
        return { type: 'character', test: flags.dotAll ? () => true : (code) => code !== 10 };
      case '^':
        return { type: 'assertion', kind: flags.multiline ? 'line_start' : 'text_start' };
      case '$':
        return { type: 'assertion', kind: flags.multiline ? 'line_end' : 'text_end' };
      case '\\':
        return this.#escape(flags);
      case '*':
      case '+':
      case '?':
        return this.#fail(`has a "${character}" that repeats nothing`);
      default:
        return literal(character, flags);
    }
  }

  #escape(flags: Flags): PatternNode {
    const character = this.#characters[this.#at];
    const assertion = character === undefined ? undefined : ASSERTIONS.get(character);
    if (assertion !== undefined) {
      this.#at += 1;
      return { type: 'assertion', kind: assertion };
    }
    const ofClass = classEscape(this.#characters, this.#at);
    if (ofClass !== null) {
      this.#at = ofClass.next;
      return { type: 'character', test: ofClass.test };
    }
    const single = singleEscape(this.#characters, this.#at);
    if (single === null) return this.#fail('has an escape that is not supported (back-references never are)');
    this.#at = single.next;
    return literal(String.fromCodePoint(single.code), flags);
  }

  #group(flags: Flags): PatternNode {
    let inner = flags;
    if (this.#take('?')) {
      const head = /^(?:P?<\w+>|([ims]*)(?:-([ims]+))?([:)]))/.exec(this.#characters.slice(this.#at).join(''));
      if (head === null) return this.#fail('has a group that is not supported (nothing looks ahead or behind)');
      this.#at += Array.from(head[0]).length;
      if (head[3] !== undefined) {
        inner = withFlags(flags, head[1] ?? '', head[2] ?? '');
        if (head[3] === ')') {
          Object.assign(flags, inner);
          return { type: 'empty' };
        }
      }
    }
    const node = this.#choice(inner);
    if (!this.#take(')')) this.#fail('has a "(" that is not closed');
    return node;
  }

  #take(character: string): boolean {
    if (this.#characters[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }
}

const ASSERTIONS: ReadonlyMap<string, Assertion> = new Map([
  ['A', 'text_start'],
  ['z', 'text_end'],
  ['b', 'word_edge'],
  ['B', 'no_word_edge'],
]);

function withFlags(flags: Flags, on: string, off: string): Flags {
  const has = (letter: string, before: boolean): boolean => (on.includes(letter) || before) && !off.includes(letter);
  return {
    ignoreCase: has('i', flags.ignoreCase),
    dotAll: has('s', flags.dotAll),
    multiline: has('m', flags.multiline),
  };
}

function literal(character: string, flags: Flags): PatternNode {
  const code = character.codePointAt(0)!;
  if (!flags.ignoreCase) return { type: 'character', test: (other) => other === code };
  const lower = character.toLowerCase();
  return { type: 'character', test: (other) => String.fromCodePoint(other).toLowerCase() === lower };
}
