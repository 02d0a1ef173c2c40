import type { Chunk } from './port.ts';
import { KeywordScanner } from './keywords/scanner.ts';
import { CompiledAllowlist } from './rules/compiled-allowlist.ts';
import { BLOCK_STARTS, type CompiledRule, type PathRule, compilePathRule, compileRule } from './rules/compiled-rule.ts';
import type { RuleSet } from './rules/rule.ts';

/** Bytes of the line around a match that allow lists and inline ignores look at, on either side. */
export const LINE_CONTEXT = 1024;

/** A rule at a keyword: what to try where the keyword ends. */
export interface Probe {
  rule: CompiledRule;
  /** Bytes of the keyword. */
  length: number;
  /** False where only the window tells. */
  filtered: boolean;
  /** Sticky, from the keyword's first byte; made at the first hit, for most keywords of a set never have one. */
  filter: RegExp | null;
}

/** A rule set, compiled: what is looked for where, and how many bytes around a place decide about it. */
export class DetectionPlan {
  readonly rules: readonly CompiledRule[];
  readonly everywhere: readonly CompiledRule[];
  readonly pathRules: readonly PathRule[];
  readonly allowlists: readonly CompiledAllowlist[];
  readonly warnings: readonly string[];
  /** Rules that may be out of question for a whole object. */
  readonly guarded: readonly CompiledRule[];
  /** True where some rule must wait for the end of the object before it is known to hold. */
  readonly hasRequired: boolean;
  readonly scanner: KeywordScanner;
  /** By the automaton's state. */
  readonly probes: readonly (readonly Probe[])[];
  /** Bytes before and behind a place that decide about it. */
  readonly before: number;
  readonly after: number;

  constructor(set: RuleSet, atLeastAfter: number, bufferBytes: (overlap: number) => number) {
    const withRegex = set.rules.filter(({ regex }) => regex !== undefined);
    this.rules = withRegex.map(compileRule);
    this.pathRules = set.rules.filter(({ regex }) => regex === undefined).map(compilePathRule);
    this.allowlists = set.allowlists.map((list) => new CompiledAllowlist(list, 'allow lists of the rule set'));
    this.warnings = set.warnings;
    this.everywhere = this.rules.filter(({ placement }) => placement.type === 'everywhere');
    this.guarded = this.rules.filter(
      ({ path, allowlists }) => path !== null || allowlists.some(({ looksAtObjects }) => looksAtObjects),
    );
    this.hasRequired = this.rules.some(({ rule }) => rule.required.length > 0);
    const { words, probes } = indexProbes(this.rules);
    const longest = Math.max(0, ...words.map(({ length }) => length));
    const before = Math.max(this.everywhere.length > 0 ? BLOCK_STARTS : 0, ...this.rules.map((rule) => rule.before));
    this.before = before + longest + LINE_CONTEXT + 1;
    this.after = Math.max(atLeastAfter, ...this.rules.map((rule) => rule.after)) + LINE_CONTEXT;
    this.scanner = new KeywordScanner(words, bufferBytes(this.before + this.after));
    this.probes = this.scanner.automaton.outputs.map((ends) => ends.flatMap((word) => probes[word]!));
  }
}

function indexProbes(rules: readonly CompiledRule[]): { words: string[]; probes: Probe[][] } {
  const byWord = new Map<string, Probe[]>();
  const add = (word: string, probe: Probe): void => {
    const probes = byWord.get(word);
    if (probes === undefined) byWord.set(word, [probe]);
    else probes.push(probe);
  };
  for (const rule of rules) {
    const { placement } = rule;
    if (placement.type === 'anchored') {
      for (const word of placement.anchor.literals)
        add(word, { rule, length: word.length, filtered: true, filter: null });
    } else if (placement.type === 'nearby') {
      for (const word of placement.keywords) add(word, { rule, length: word.length, filtered: false, filter: null });
    }
  }
  return { words: [...byWord.keys()], probes: [...byWord.values()] };
}

/** Bytes that stand in the scanner's memory. */
export type ScannedChunk = Omit<Chunk, 'bytes' | 'prefix_length'> & { address: number };
