import { KeywordScanner } from './keywords/scanner.ts';
import { outputsOf } from './keywords/trie.ts';
import { type CompiledRules, rulePlanAt } from './packed-rules.ts';
import type { Chunk } from './port.ts';
import { type CompiledAllowlist, readyAllowlist } from './rules/compiled-allowlist.ts';
import { type LookAhead, lookAhead, UNDECIDED } from './regex/look-ahead.ts';
import { lowerCaseAscii } from './rules/lower-case.ts';
import { type CompiledRule, type PathRule, readyPathRule, readyRule } from './rules/compiled-rule.ts';

/** Bytes of the line on either side of a match that allow lists and inline ignores inspect. */
export const LINE_CONTEXT = 1024;

/** Bytes before a match in which the keys that lead to it are looked for. */
export const STRUCTURE_BEFORE = 4096;

/** A rule at a keyword: what to try at the keyword's end. */
export interface Probe {
  rule: CompiledRule;
  /** Bytes of the keyword. */
  length: number;
  /** False if only the window decides. */
  filtered: boolean;
  /** The filter of the rule, from the first hit on, since most keywords of a set never have one. */
  filter: RegExp | null;
}

/** The probes of one automaton state: their keywords end at the same byte. */
export interface ProbeGroup {
  state: number;
  probes: readonly Probe[];
  allFiltered: boolean;
  /** Probes of its hits so far, until they are many. */
  tried: number;
  /** Of a group with many of them: which of its filtered probes may match, in their order. Cheaper than their filters. */
  ahead: LookAhead | null;
  /** Rises while the look ahead leaves too many hits undecided. */
  undecided: number;
}

/** Probes that make a look ahead worthwhile, which takes a millisecond or two to prepare. */
const TRIED_MANY = 2048;
/** Its answers that decide, for each that does not, below which it costs more than it saves. */
const DECIDED_MIN = 3;
/** What those that do not decide may add up to before it is abandoned. */
const UNDECIDED_MAX = 2048;

/** A rule set in one thread: what to search for where, and how many surrounding bytes decide a match. */
export class DetectionPlan {
  readonly everywhere: readonly CompiledRule[];
  readonly pathRules: readonly PathRule[];
  readonly allowlists: readonly CompiledAllowlist[];
  readonly scanner: KeywordScanner;
  /** Bytes before and after a position that decide about it. */
  readonly before: number;
  readonly after: number;
  readonly showsRefused: boolean;
  readonly #compiled: CompiledRules;
  /** As far as used: most rules of a set never are. */
  readonly #rules: CompiledRule[] = [];
  readonly #numbers = new Map<CompiledRule, number>();
  /** By automaton state, as far as reached, and by keyword. */
  readonly #atState: (ProbeGroup | null)[];
  readonly #ofKeyword: (readonly Probe[])[] = [];

  /** @param showsRefused what a rule refuses is wanted, too */
  constructor(
    compiled: CompiledRules,
    atLeastAfter: number,
    bufferBytes: (overlap: number) => number,
    { showsRefused = false } = {},
  ) {
    const { outline, automaton } = compiled;
    this.#compiled = compiled;
    this.showsRefused = showsRefused;
    this.#atState = new Array<null>(automaton.states).fill(null);
    this.pathRules = compiled.path_rules.map(readyPathRule);
    this.allowlists = compiled.allowlists.map(readyAllowlist);
    this.everywhere = outline.everywhere.map((number) => this.ruleAt(number));
    this.before = outline.before + automaton.longest + Math.max(LINE_CONTEXT, STRUCTURE_BEFORE) + 1;
    this.after = Math.max(atLeastAfter, outline.after) + LINE_CONTEXT;
    this.scanner = new KeywordScanner(automaton, bufferBytes(this.before + this.after));
  }

  /** Of the credentials that rules recognize by their form. */
  get prefixes(): readonly string[] {
    return this.#compiled.outline.prefixes;
  }

  /** True if some rule can only be decided at the end of the object. */
  get hasRequired(): boolean {
    return this.#compiled.outline.has_required;
  }

  /** Returns whether some rule looks at an object; `applies` decides it for each rule if none looks at all of them. */
  hasRuleFor(applies: (rule: CompiledRule) => boolean): boolean {
    const { has_unguarded, count } = this.#compiled.outline;
    if (has_unguarded) return true;
    for (let number = 0; number < count; number++) if (applies(this.ruleAt(number))) return true;
    return false;
  }

  /** Returns a rule by its number, which is the same in every thread. */
  ruleAt(number: number): CompiledRule {
    const known = this.#rules[number];
    if (known !== undefined) return known;
    const rule = readyRule(rulePlanAt(this.#compiled, number));
    this.#rules[number] = rule;
    this.#numbers.set(rule, number);
    return rule;
  }

  numberOf(rule: CompiledRule): number {
    return this.#numbers.get(rule)!;
  }

  /** Returns the probes of an automaton state for a hit that ends at an address. */
  probesAt(state: number, end: number): ProbeGroup {
    const group = (this.#atState[state] ??= this.#groupOf(state));
    if (group.tried < TRIED_MANY) {
      group.tried += group.probes.length;
      if (group.tried >= TRIED_MANY) this.#lookAhead(group, end);
    }
    return group;
  }

  /**
   * Returns the bits of the filtered probes of a group that may match at an address, or `UNDECIDED`; `outcome` is that of
   * the hit.
   */
  outlook(group: ProbeGroup, end: number, textEnd: number, outcome: number): number {
    if (group.ahead === null) return UNDECIDED;
    const outlook = group.ahead.outlook(this.scanner.bytes, end, textEnd, outcome);
    if (outlook !== UNDECIDED) group.undecided = Math.max(0, group.undecided - 1);
    else {
      group.undecided = Math.max(0, group.undecided - group.ahead.takeLeftOut()) + DECIDED_MIN;
      if (group.undecided > UNDECIDED_MAX) {
        group.ahead = null;
        this.scanner.lookAhead(group.state, null);
      }
    }
    return outlook;
  }

  #groupOf(state: number): ProbeGroup {
    const words = [...outputsOf(this.#compiled.automaton, state)];
    const probes = words.flatMap((word) => this.#probesOf(word));
    const allFiltered = probes.every(({ filtered }) => filtered);
    return { state, probes, allFiltered, tried: 0, ahead: null, undecided: 0 };
  }

  #lookAhead(group: ProbeGroup, end: number): void {
    const filtered = group.probes.filter((probe) => probe.filtered);
    const allocate = (length: number): Int32Array | null => this.scanner.allocateLookAhead(length);
    const ahead = (what: 'rest' | 'filtered'): LookAhead | null =>
      lookAhead(
        filtered.map(({ rule, length }) => {
          const keyword = this.scanner.bytes.toString('latin1', end - length, end);
          const and = what === 'rest' && !this.showsRefused ? rule.beyondWords() : null;
          return { node: rule[what](), literal: lowerCaseAscii(keyword), and };
        }),
        allocate,
      );
    // All of a pattern may be too large.
    group.ahead = ahead('rest') ?? ahead('filtered');
    // The other probes look at every hit.
    if (group.ahead !== null && group.allFiltered) this.scanner.lookAhead(group.state, group.ahead.table);
  }

  /** Filters belong to a keyword, even where it ends a longer one. */
  #probesOf(word: number): readonly Probe[] {
    const { lengths, first, rules } = this.#compiled.keywords;
    const length = lengths[word]!;
    return (this.#ofKeyword[word] ??= Array.from(rules.subarray(first[word], first[word + 1]), (number) => {
      const rule = this.ruleAt(number);
      return { rule, length, filtered: rule.placement.type === 'anchored', filter: null };
    }));
  }
}

/** Bytes in the scanner's memory. */
export type ScannedChunk = Omit<Chunk, 'bytes' | 'prefix_length'> & { address: number };
