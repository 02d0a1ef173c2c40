import { compileExpression } from './compile.ts';
import type { Compiled } from './compile.ts';

/** Number of compiled expressions to cache, since tasks of one workflow often share them. */
const KEPT_MAX = 1000;

const kept = new Map<string, Compiled>();

/** Compiles an expression over the variables of workflows; cached. */
export function compileFlowExpression(text: string): Compiled {
  const known = kept.get(text);
  if (known !== undefined) return known;
  const compiled = compileExpression(text);
  if (kept.size >= KEPT_MAX) kept.delete(kept.keys().next().value!);
  kept.set(text, compiled);
  return compiled;
}
