import { type Alphabet, type ClassParts, namedSets, PERL_CLASSES, POSIX_CLASSES } from './alphabet.ts';
import { type AssertionKind, choice, type ParsedRegex, type RegexNode, sequence } from './ast.ts';

/** A pattern that RE2 or this engine does not accept. */
export class RegexSyntaxError extends Error {
  /** Characters before the fault. */
  readonly position: number;

  constructor(position: number, reason: string) {
    super(reason);
    this.name = 'RegexSyntaxError';
    this.position = position;
  }
}

export interface RegexLimits {
  /** Characters of a pattern. */
  readonly lengthMax: number;
  /** Bounds of a repetition. */
  readonly repeatMax: number;
  /** Groups within each other. */
  readonly nestingMax: number;
}

const SIMPLE_ESCAPES: Readonly<Record<string, number>> = { a: 7, f: 12, t: 9, n: 10, r: 13, v: 11 };

interface Flags {
  ignoreCase: boolean;
  multiLine: boolean;
  dotAll: boolean;
  ungreedy: boolean;
}

const NO_FLAGS: Flags = { ignoreCase: false, multiLine: false, dotAll: false, ungreedy: false };

/** The sets that an alphabet has for every pattern. */
interface KnownSets<S> {
  readonly any: S;
  readonly notNewline: S;
  readonly perl: ReadonlyMap<string, S>;
  readonly posix: ReadonlyMap<string, S>;
}

/**
 * Returns a function that parses RE2 syntax into a tree. It throws RegexSyntaxError with the position of the fault.
 */
export function regexParser<S>(alphabet: Alphabet<S>, limits: RegexLimits): (pattern: string) => ParsedRegex<S> {
  const sets: KnownSets<S> = {
    any: alphabet.complement(alphabet.setOf([])),
    notNewline: alphabet.complement(alphabet.setOf([[0x0a, 0x0a]])),
    perl: namedSets(alphabet, PERL_CLASSES),
    posix: namedSets(alphabet, POSIX_CLASSES),
  };
  const { lengthMax } = limits;
  return (pattern) => {
    if (pattern.length > lengthMax) throw new RegexSyntaxError(lengthMax, `it is longer than ${lengthMax} characters`);
    return new Parser(pattern, alphabet, sets, limits).parse();
  };
}

class Parser<S> {
  readonly #alphabet: Alphabet<S>;
  readonly #sets: KnownSets<S>;
  readonly #limits: RegexLimits;
  readonly #pattern: string;
  #at = 0;
  #groups = 0;
  #depth = 0;

  constructor(pattern: string, alphabet: Alphabet<S>, sets: KnownSets<S>, limits: RegexLimits) {
    this.#pattern = pattern;
    this.#alphabet = alphabet;
    this.#sets = sets;
    this.#limits = limits;
  }

  parse(): ParsedRegex<S> {
    const node = this.#choice({ ...NO_FLAGS });
    if (this.#at < this.#pattern.length) this.#fail('unmatched closing parenthesis');
    return { node, groups: this.#groups };
  }

  #fail(reason: string, at = this.#at): never {
    throw new RegexSyntaxError(at, reason);
  }

  #peek(text: string): boolean {
    return this.#pattern.startsWith(text, this.#at);
  }

  #take(text: string): boolean {
    if (!this.#peek(text)) return false;
    this.#at += text.length;
    return true;
  }

  /** Reads one character, which may be two UTF-16 units. */
  #next(): number {
    const codePoint = this.#pattern.codePointAt(this.#at);
    if (codePoint === undefined) this.#fail('it ends unexpectedly');
    this.#at += codePoint > 0xffff ? 2 : 1;
    return codePoint;
  }

  /** Flags set within a group hold to the end: the caller passes a copy. */
  #choice(flags: Flags): RegexNode<S> {
    const { nestingMax } = this.#limits;
    if (++this.#depth > nestingMax) this.#fail(`groups are nested deeper than ${nestingMax}`);
    const branches: RegexNode<S>[] = [];
    do branches.push(this.#sequence(flags));
    while (this.#take('|'));
    this.#depth--;
    return choice(branches);
  }

  #sequence(flags: Flags): RegexNode<S> {
    const parts: RegexNode<S>[] = [];
    while (this.#at < this.#pattern.length && !this.#peek('|') && !this.#peek(')')) {
      if (this.#take('\\Q')) {
        const quoted = this.#quoted(flags);
        const last = quoted.pop();
        parts.push(...quoted);
        if (last !== undefined) parts.push(this.#repeated(last, flags));
      } else {
        const atom = this.#atom(flags);
        if (atom !== null) parts.push(this.#repeated(atom, flags));
      }
    }
    return sequence(parts);
  }

  #quoted(flags: Flags): RegexNode<S>[] {
    const end = this.#pattern.indexOf('\\E', this.#at);
    const text = this.#pattern.slice(this.#at, end === -1 ? undefined : end);
    this.#at = end === -1 ? this.#pattern.length : end + 2;
    return Array.from(text, (character) => this.#alphabet.character(character.codePointAt(0)!, flags.ignoreCase));
  }

  /** Returns null for a group that only sets flags. */
  #atom(flags: Flags): RegexNode<S> | null {
    const start = this.#at;
    const codePoint = this.#next();
    switch (String.fromCodePoint(codePoint)) {
      case '(':
        return this.#group(flags, start);
      case '[':
        return this.#class(flags, start);
      case '.':
        return { type: 'set', set: flags.dotAll ? this.#sets.any : this.#sets.notNewline };
      case '^':
        return { type: 'assertion', kind: flags.multiLine ? 'line_start' : 'text_start' };
      case '$':
        return { type: 'assertion', kind: flags.multiLine ? 'line_end' : 'text_end' };
      case '\\':
        return this.#escape(flags, start);
      case '*':
      case '+':
      case '?':
        return this.#fail('nothing to repeat', start);
      default:
        return this.#alphabet.character(codePoint, flags.ignoreCase);
    }
  }

  #repeated(atom: RegexNode<S>, flags: Flags): RegexNode<S> {
    const bounds = this.#bounds();
    if (bounds === null) return atom;
    const [min, max] = bounds;
    const lazy = this.#take('?') !== flags.ungreedy;
    if (this.#peek('+')) this.#fail('possessive repetition is not supported; RE2 has none either');
    const at = this.#at;
    if (this.#bounds() !== null) this.#fail('a repetition of a repetition needs a group around the inner one', at);
    return { type: 'repeat', node: atom, min, max, lazy };
  }

  /** Reads a quantifier; returns null if there is none. Braces that are no quantifier are literal. */
  #bounds(): [number, number] | null {
    if (this.#take('*')) return [0, Infinity];
    if (this.#take('+')) return [1, Infinity];
    if (this.#take('?')) return [0, 1];
    const match = /^\{(\d+)(?:(,)(\d*))?\}/.exec(this.#pattern.slice(this.#at, this.#at + 40));
    if (match === null) return null;
    const min = Number(match[1]);
    const max = match[2] === undefined ? min : match[3] === '' ? Infinity : Number(match[3]);
    const { repeatMax } = this.#limits;
    if (min > repeatMax || (max > repeatMax && max !== Infinity)) {
      this.#fail(`a repetition may not count beyond ${repeatMax}`);
    }
    if (min > max) this.#fail('the lower bound of a repetition is above its upper bound');
    this.#at += match[0].length;
    return [min, max];
  }

  #group(flags: Flags, start: number): RegexNode<S> | null {
    if (!this.#take('?')) return this.#captured(flags, start);
    if (this.#peek('=') || this.#peek('!')) this.#fail('lookahead is not supported; RE2 has none either', start);
    if (this.#peek('<=') || this.#peek('<!')) this.#fail('lookbehind is not supported; RE2 has none either', start);
    if (this.#peek('>')) this.#fail('an atomic group is not supported; RE2 has none either', start);
    if (this.#take('P<') || this.#take('<')) {
      const end = this.#pattern.indexOf('>', this.#at);
      if (end === -1 || !/^\w+$/.test(this.#pattern.slice(this.#at, end))) {
        this.#fail('the name of a group is letters, digits and _, ended by >', start);
      }
      this.#at = end + 1;
      return this.#captured(flags, start);
    }
    if (this.#peek('P=') || this.#peek('P>')) this.#fail('a backreference is not supported', start);
    return this.#flagged(flags, start);
  }

  #captured(flags: Flags, start: number): RegexNode<S> {
    const group = ++this.#groups;
    const node = this.#choice({ ...flags });
    this.#close(start);
    return { type: 'capture', node, group };
  }

  #close(start: number): void {
    if (!this.#take(')')) this.#fail('a group is not closed', start);
  }

  /** Applies `(?i)` to the rest of the enclosing group, `(?i:...)` to its own content. */
  #flagged(flags: Flags, start: number): RegexNode<S> | null {
    const match = /^([imsU]*)(?:(-)([imsU]+))?([:)])/.exec(this.#pattern.slice(this.#at, this.#at + 20));
    if (match === null) this.#fail('this kind of group is unknown; the flags are i, m, s and U', start);
    this.#at += match[0].length;
    const changed = { ...flags };
    setFlags(changed, match[1]!, true);
    setFlags(changed, match[3] ?? '', false);
    if (match[4] === ')') {
      Object.assign(flags, changed);
      return null;
    }
    const node = this.#choice(changed);
    this.#close(start);
    return node;
  }

  #escape(flags: Flags, start: number): RegexNode<S> {
    const letter = this.#pattern[this.#at] ?? '';
    switch (letter) {
      case 'A':
        return this.#assertion('text_start');
      case 'z':
        return this.#assertion('text_end');
      case 'b':
        return this.#assertion('word_boundary');
      case 'B':
        return this.#assertion('no_word_boundary');
      case 'Z':
        return this.#fail('\\Z is not supported; use \\z', start);
    }
    const set = this.#escapedClass(start);
    if (set !== null && !flags.ignoreCase) return { type: 'set', set };
    if (set !== null) return this.#alphabet.characterClass({ sets: [set], ranges: [] }, { ...flags, negated: false });
    return this.#alphabet.character(this.#escapedCharacter(start), flags.ignoreCase);
  }

  #assertion(kind: AssertionKind): RegexNode<S> {
    this.#at++;
    return { type: 'assertion', kind };
  }

  /** Reads the class after a backslash; returns null if it is a character. */
  #escapedClass(start: number): S | null {
    const letter = this.#pattern[this.#at] ?? '';
    const perl = this.#sets.perl.get(letter.replace(/[A-Z]/, (upper) => `^${upper.toLowerCase()}`));
    if (perl !== undefined) {
      this.#at++;
      return perl;
    }
    if (letter !== 'p' && letter !== 'P') return null;
    const match = /^[pP](?:\{(\^?)(\w+)\}|([A-Z]))/.exec(this.#pattern.slice(this.#at, this.#at + 40));
    const name = match?.[2] ?? match?.[3] ?? '';
    const set = name === '' ? null : this.#alphabet.property(name, (letter === 'P') !== (match?.[1] === '^'));
    if (match === null || set === null) this.#fail('this Unicode property is not known', start);
    this.#at += match[0].length;
    return set;
  }

  #escapedCharacter(start: number): number {
    const rest = this.#pattern.slice(this.#at, this.#at + 12);
    const hexadecimal = /^x(?:([0-9a-fA-F]{2})|\{([0-9a-fA-F]{1,6})\})/.exec(rest);
    if (hexadecimal !== null) {
      this.#at += hexadecimal[0].length;
      const codePoint = parseInt(hexadecimal[1] ?? hexadecimal[2]!, 16);
      if (codePoint > 0x10ffff) this.#fail('there is no such character', start);
      return codePoint;
    }
    const octal = /^(?:0[0-7]{0,2}|[1-7][0-7]{2})/.exec(rest);
    if (octal !== null) {
      this.#at += octal[0].length;
      return parseInt(octal[0], 8);
    }
    if (/^[1-9k]/.test(rest)) this.#fail('a backreference is not supported; RE2 has none either', start);
    const codePoint = this.#next();
    const character = String.fromCodePoint(codePoint);
    if (Object.hasOwn(SIMPLE_ESCAPES, character)) return SIMPLE_ESCAPES[character]!;
    if (/[0-9A-Za-z]/.test(character)) this.#fail(`\\${character} has no meaning`, start);
    return codePoint;
  }

  #class(flags: Flags, start: number): RegexNode<S> {
    const negated = this.#take('^');
    const parts: ClassParts<S> = { sets: [], ranges: [] };
    let first = true;
    while (first || !this.#peek(']')) {
      if (this.#at >= this.#pattern.length) this.#fail('a class is not closed', start);
      first = false;
      this.#classItem(parts, start);
    }
    this.#at++;
    return this.#alphabet.characterClass(parts, { ...flags, negated });
  }

  #classItem(parts: ClassParts<S>, start: number): void {
    const posix = /^\[:(\^?)(\w+):\]/.exec(this.#pattern.slice(this.#at, this.#at + 20));
    if (posix !== null) {
      const set = this.#sets.posix.get(`${posix[1]}${posix[2]}`);
      if (set === undefined) this.#fail(`the class ${posix[0]} is not known`);
      this.#at += posix[0].length;
      parts.sets.push(set);
      return;
    }
    if (this.#peek('\\')) {
      const at = this.#at++;
      const set = this.#escapedClass(at);
      if (set !== null) {
        parts.sets.push(set);
        return;
      }
      this.#at = at;
    }
    const low = this.#classCharacter();
    let high = low;
    if (this.#peek('-') && this.#pattern[this.#at + 1] !== ']' && this.#at + 1 < this.#pattern.length) {
      this.#at++;
      high = this.#classCharacter();
      if (high < low) this.#fail('the bounds of a character range are reversed', start);
    }
    parts.ranges.push([low, high]);
  }

  #classCharacter(): number {
    const start = this.#at;
    return this.#take('\\') ? this.#escapedCharacter(start) : this.#next();
  }
}

function setFlags(flags: Flags, letters: string, value: boolean): void {
  if (letters.includes('i')) flags.ignoreCase = value;
  if (letters.includes('m')) flags.multiLine = value;
  if (letters.includes('s')) flags.dotAll = value;
  if (letters.includes('U')) flags.ungreedy = value;
}
