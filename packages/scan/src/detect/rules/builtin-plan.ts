import { readFileSync } from 'node:fs';
import { deserialize, serialize } from 'node:v8';

import type { CompiledRules } from '../compile-rules.ts';
import { shared } from '../keywords/trie.ts';

/** Exists in the published package only; the build creates it last, from that package's own rules. */
const PLAN = new URL('./builtin.plan', import.meta.url);

/** Returns the built-in rules as compiled at build time; null if they must be compiled now. */
export function builtinPlan(file = PLAN): CompiledRules | null {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch {
    return null;
  }
  return readPlan(bytes);
}

export function planBytes(rules: CompiledRules): Buffer {
  return serialize(rules);
}

export function readPlan(bytes: Buffer): CompiledRules {
  const rules = deserialize(bytes) as CompiledRules;
  const { next, first, outputs } = rules.automaton;
  const tables = { next: shared(next), first: shared(first), outputs: shared(outputs) };
  return { ...rules, automaton: { ...rules.automaton, ...tables } };
}
