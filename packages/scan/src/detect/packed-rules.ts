import { deserialize, serialize } from 'node:v8';

import { prefixesOf } from './judge/known-prefixes.ts';
import type { KeywordAutomaton } from './keywords/trie.ts';
import { type AllowlistPlan, BLOCK_STARTS, isGuarded, type PathRulePlan, type RulePlan } from './rules/rule-plan.ts';

/**
 * A compiled rule set: the expensive results as plain data. One thread computes or reads it, and every scanning thread
 * uses it; the large parts are views of one memory that they share. It is also the content of a file.
 */
export interface CompiledRules {
  outline: RulesOutline;
  path_rules: readonly PathRulePlan[];
  /** Of all rules. */
  allowlists: readonly AllowlistPlan[];
  /** Those of single rules, by number: most rules share a few. */
  rule_allowlists: readonly AllowlistPlan[];
  /** Warnings, such as unknown fields: sentences. */
  warnings: readonly string[];
  /** Finds the keywords. */
  automaton: KeywordAutomaton;
  keywords: KeywordTables;
  /** Each rule serialized for itself, since a scan uses few: rule n is in `bytes` from `first[n]` to `first[n + 1]`. */
  rules: { bytes: Uint8Array<SharedArrayBuffer>; first: Uint32Array<SharedArrayBuffer> };
}

/** What is needed of the rules before any of them is. */
export interface RulesOutline {
  count: number;
  /** The most bytes before the anchor, and from it on, that decide about a match. */
  before: number;
  after: number;
  /** Numbers of the rules without any keyword. */
  everywhere: readonly number[];
  /** Some rule can only be decided at the end of the object. */
  has_required: boolean;
  /** Some rule looks at every object. */
  has_unguarded: boolean;
  /** Of the credentials that rules recognize by their form, in lower case. */
  prefixes: readonly string[];
}

/** By keyword: its bytes, and the rules to try at a hit: `rules[first[k]]` to before `rules[first[k + 1]]`. */
export interface KeywordTables {
  lengths: Uint32Array<SharedArrayBuffer>;
  first: Uint32Array<SharedArrayBuffer>;
  rules: Uint32Array<SharedArrayBuffer>;
}

/** A rule set before it is packed. */
export interface RuleParts extends Pick<CompiledRules, 'path_rules' | 'allowlists' | 'warnings'> {
  rules: readonly RulePlan[];
  automaton: KeywordAutomaton;
  keywords: readonly { length: number; rules: readonly number[] }[];
}

const TABLES = ['next', 'first', 'outputs', 'lengths', 'keywordFirst', 'keywordRules', 'ruleFirst'] as const;
type Bytes = Uint8Array<SharedArrayBuffer>;
type Tables<T> = Record<(typeof TABLES)[number], T>;

/** The beginning of the packed bytes; the tables follow, and then the rules. */
interface Header extends Pick<CompiledRules, 'outline' | 'path_rules' | 'allowlists' | 'rule_allowlists' | 'warnings'> {
  automaton: Omit<KeywordAutomaton, 'next' | 'first' | 'outputs'>;
  /** Numbers in each table. */
  table_lengths: Tables<number>;
  rule_bytes: number;
}

/** A rule as it is packed: with the numbers of its allow lists. */
type PackedRule = Omit<RulePlan, 'rule' | 'allowlists'> & {
  rule: Omit<RulePlan['rule'], 'allowlists'>;
  allowlists: readonly number[];
};

export function packRules(parts: RuleParts): CompiledRules {
  return unpackRules(packedBytes(parts));
}

/** Returns the rules of the given bytes. Throws if they are damaged, as far as that shows without reading all. */
export function unpackRules(bytes: Uint8Array<SharedArrayBuffer>): CompiledRules {
  const words = new Uint32Array(bytes.buffer, 0, 1);
  const headerBytes = words[0]!;
  const header = deserialize(bytes.subarray(4, 4 + headerBytes)) as Header;
  const { automaton, table_lengths, rule_bytes, ...rest } = header;
  let at = align(4 + headerBytes);
  const table = (length: number): Uint32Array<SharedArrayBuffer> => {
    const from = at;
    at += length * 4;
    return new Uint32Array(bytes.buffer, from, length);
  };
  const { next, first, outputs, lengths, keywordFirst, keywordRules, ruleFirst } = mapTables(table_lengths, table);
  if (at + rule_bytes !== bytes.length) throw new Error('compiled rules: the file has another length than it says');
  return {
    ...rest,
    automaton: { ...automaton, next, first, outputs },
    keywords: { lengths, first: keywordFirst, rules: keywordRules },
    rules: { bytes: bytes.subarray(at), first: ruleFirst },
  };
}

/** Returns the whole set as bytes, for `unpackRules`. */
export function bytesOfRules({ rules }: CompiledRules): Uint8Array<SharedArrayBuffer> {
  return new Uint8Array(rules.bytes.buffer);
}

/** Returns the plan of a rule, by number. */
export function rulePlanAt({ rules, rule_allowlists }: CompiledRules, number: number): RulePlan {
  const { bytes, first } = rules;
  const packed = deserialize(bytes.subarray(first[number], first[number + 1])) as PackedRule;
  const allowlists = packed.allowlists.map((list) => rule_allowlists[list]!);
  return { ...packed, rule: { ...packed.rule, allowlists: allowlists.map(({ list }) => list) }, allowlists };
}

function packedBytes({ rules, path_rules, allowlists, warnings, automaton, keywords }: RuleParts): Bytes {
  const { next, first, outputs, ...rest } = automaton;
  const lists = new AllowlistNumbers();
  const serialized = rules.map((rule) => serialize(packedRule(rule, lists)));
  const tables: Tables<ArrayLike<number>> = {
    next,
    first,
    outputs,
    lengths: keywords.map(({ length }) => length),
    keywordFirst: firsts(keywords.map((each) => each.rules.length)),
    keywordRules: keywords.flatMap((each) => each.rules),
    ruleFirst: firsts(serialized.map(({ length }) => length)),
  };
  const header: Header = {
    outline: outlineOf(rules),
    path_rules,
    allowlists,
    rule_allowlists: lists.all,
    warnings,
    automaton: rest,
    table_lengths: mapTables(tables, ({ length }) => length),
    rule_bytes: serialized.reduce((sum, { length }) => sum + length, 0),
  };
  return joined(serialize(header), Object.values(tables), serialized);
}

/** Numbers allow lists; equal ones have one number. */
class AllowlistNumbers {
  readonly all: AllowlistPlan[] = [];
  readonly #numbers = new Map<string, number>();

  of(list: AllowlistPlan): number {
    const key = JSON.stringify(list);
    const number = this.#numbers.get(key) ?? this.all.push(list) - 1;
    this.#numbers.set(key, number);
    return number;
  }
}

function packedRule({ rule, allowlists, ...rest }: RulePlan, lists: AllowlistNumbers): PackedRule {
  const { allowlists: _, ...ruleRest } = rule;
  return { ...rest, rule: ruleRest, allowlists: allowlists.map((list) => lists.of(list)) };
}

function joined(header: Buffer, tables: readonly ArrayLike<number>[], rules: readonly Buffer[]): Bytes {
  const tablesAt = align(4 + header.length);
  const rulesAt = tables.reduce((sum, { length }) => sum + length * 4, tablesAt);
  const buffer = new SharedArrayBuffer(rules.reduce((sum, { length }) => sum + length, rulesAt));
  const bytes = new Uint8Array(buffer);
  new Uint32Array(buffer, 0, 1)[0] = header.length;
  bytes.set(header, 4);
  let at = tablesAt;
  for (const table of tables) {
    new Uint32Array(buffer, at, table.length).set(table);
    at += table.length * 4;
  }
  for (const rule of rules) {
    bytes.set(rule, at);
    at += rule.length;
  }
  return bytes;
}

function outlineOf(rules: readonly RulePlan[]): RulesOutline {
  const everywhere = [...rules.entries()].filter(([, { placement }]) => placement.type === 'everywhere');
  return {
    count: rules.length,
    before: Math.max(everywhere.length > 0 ? BLOCK_STARTS : 0, ...rules.map(({ before }) => before)),
    after: Math.max(0, ...rules.map(({ after }) => after)),
    everywhere: everywhere.map(([number]) => number),
    has_required: rules.some(({ rule }) => rule.required.length > 0),
    has_unguarded: rules.some((rule) => !isGuarded(rule)),
    prefixes: prefixesOf(rules.map(({ rule }) => rule)),
  };
}

/** In the order in which they are stored. */
function mapTables<T, U>(tables: Tables<T>, map: (each: T) => U): Tables<U> {
  return Object.fromEntries(TABLES.map((name) => [name, map(tables[name])])) as Tables<U>;
}

function firsts(lengths: readonly number[]): number[] {
  let total = 0;
  return [0, ...lengths.map((length) => (total += length))];
}

function align(address: number): number {
  return (address + 3) & ~3;
}
