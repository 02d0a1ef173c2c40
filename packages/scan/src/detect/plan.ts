import type { CompiledRules } from './compile-rules.ts';
import { KeywordScanner } from './keywords/scanner.ts';
import { outputsOf } from './keywords/trie.ts';
import type { Chunk } from './port.ts';
import { CompiledAllowlist } from './rules/compiled-allowlist.ts';
import { type CompiledRule, type PathRule, readyPathRule, readyRule } from './rules/compiled-rule.ts';
import { BLOCK_STARTS } from './rules/rule-plan.ts';

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
  /** Sticky, from the keyword's first byte; created at the first hit, since most keywords of a set never have one. */
  filter: RegExp | null;
}

/** A rule set in one thread: what to search for where, and how many surrounding bytes decide a match. */
export class DetectionPlan {
  readonly rules: readonly CompiledRule[];
  readonly everywhere: readonly CompiledRule[];
  readonly pathRules: readonly PathRule[];
  readonly allowlists: readonly CompiledAllowlist[];
  /** Rules that may not apply to a whole object. */
  readonly guarded: readonly CompiledRule[];
  /** True if some rule can only be decided at the end of the object. */
  readonly hasRequired: boolean;
  readonly scanner: KeywordScanner;
  /** Bytes before and after a position that decide about it. */
  readonly before: number;
  readonly after: number;
  readonly #compiled: CompiledRules;
  /** By automaton state, as far as reached, and by keyword. */
  readonly #atState: (readonly Probe[])[] = [];
  readonly #ofKeyword: (readonly Probe[])[] = [];

  constructor(compiled: CompiledRules, atLeastAfter: number, bufferBytes: (overlap: number) => number) {
    this.#compiled = compiled;
    this.rules = compiled.rules.map(readyRule);
    this.pathRules = compiled.path_rules.map(readyPathRule);
    this.allowlists = compiled.allowlists.map((list) => new CompiledAllowlist(list));
    this.everywhere = this.rules.filter(({ placement }) => placement.type === 'everywhere');
    this.guarded = this.rules.filter(
      ({ path, allowlists }) => path !== null || allowlists.some(({ looksAtObjects }) => looksAtObjects),
    );
    this.hasRequired = this.rules.some(({ rule }) => rule.required.length > 0);
    const before = Math.max(this.everywhere.length > 0 ? BLOCK_STARTS : 0, ...this.rules.map((rule) => rule.before));
    this.before = before + compiled.automaton.longest + Math.max(LINE_CONTEXT, STRUCTURE_BEFORE) + 1;
    this.after = Math.max(atLeastAfter, ...this.rules.map((rule) => rule.after)) + LINE_CONTEXT;
    this.scanner = new KeywordScanner(compiled.automaton, bufferBytes(this.before + this.after));
  }

  /** Returns the probes of an automaton state. */
  probesAt(state: number): readonly Probe[] {
    return (this.#atState[state] ??= [...outputsOf(this.#compiled.automaton, state)].flatMap((word) =>
      this.#probesOf(word),
    ));
  }

  /** Filters belong to a keyword, even where it ends a longer one. */
  #probesOf(word: number): readonly Probe[] {
    const { length, rules } = this.#compiled.keywords[word]!;
    return (this.#ofKeyword[word] ??= rules.map((index) => {
      const rule = this.rules[index]!;
      return { rule, length, filtered: rule.placement.type === 'anchored', filter: null };
    }));
  }
}

/** Bytes in the scanner's memory. */
export type ScannedChunk = Omit<Chunk, 'bytes' | 'prefix_length'> & { address: number };
