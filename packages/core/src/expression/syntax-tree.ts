/**
 * Node of the tree that the CEL parser builds, with the undeclared fields that evaluation uses: every evaluation of a
 * node calls its `evaluate`, every operation on values its `handle`.
 */
export interface SyntaxNode {
  op: string;
  args: unknown;
  start: number;
  readonly meta: {
    evaluate: Evaluate;
    /** Whether its value may be asynchronous; computed if not set. */
    async?: boolean;
    /** Expansion of a macro over lists. */
    alternate?: SyntaxNode;
    macro?: {
      evaluate: (evaluator: unknown, macro: unknown, context: unknown) => unknown;
      /** For `cel.bind`: the location of its variable. */
      bindCtx?: object;
    };
  };
  evaluate: Evaluate;
  handle?: (...operands: unknown[]) => unknown;
}

export type Evaluate = (evaluator: unknown, node: SyntaxNode, context: unknown) => unknown;

export function isSyntaxNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'op' in value && 'meta' in value;
}

/** Yields every node that an evaluation may reach, expansions of macros included. */
export function allNodes(root: SyntaxNode): Set<SyntaxNode> {
  const found = new Set<SyntaxNode>();
  const seen = new Set<object>();
  const pending: unknown[] = [root];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value !== 'object' || value === null || seen.has(value)) continue;
    seen.add(value);
    if (isSyntaxNode(value)) {
      found.add(value);
      pending.push(value.args, value.meta.alternate, value.meta.macro);
    } else if (Array.isArray(value)) pending.push(...(value as unknown[]));
    else if (Object.getPrototypeOf(value) === Object.prototype) pending.push(...(Object.values(value) as unknown[]));
  }
  return found;
}
