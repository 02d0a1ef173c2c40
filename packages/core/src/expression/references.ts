import { ExpressionError } from './fault.ts';
import type { SyntaxNode } from './syntax-tree.ts';
import { isSyntaxNode } from './syntax-tree.ts';

/** Reads of one variable by an expression. */
export interface VariableUse {
  /** Members read by name: `nodes.scan` and `nodes["scan"]` read `scan`. */
  members: ReadonlyMap<string, number>;
  /** Offset of the first use other than by a fixed member name; null: none. */
  whole_at: number | null;
}

/** Reads of an expression, by variable. */
export type References = ReadonlyMap<string, VariableUse>;

interface Collected {
  members: Map<string, number>;
  whole_at: number | null;
}

const SELECTIONS = new Set(['.', '.?']);
const INDEXES = new Set(['[]', '[?]']);
const BINDING_MACROS = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);

/**
 * Walks the tree as written: collects its reads and rejects macro variables that shadow another one.
 * @throws ExpressionError
 */
export function collectReferences(root: SyntaxNode, text: string): References {
  const found = new Map<string, Collected>();
  const pending: { node: SyntaxNode; bound: ReadonlySet<string> }[] = [{ node: root, bound: new Set() }];
  for (let visit = pending.pop(); visit !== undefined; visit = pending.pop()) {
    const { node, bound } = visit;
    const selected = selection(node);
    if (selected !== null && !bound.has(selected.variable)) {
      const members = use(found, selected.variable).members;
      if (!members.has(selected.member)) members.set(selected.member, node.start);
      continue;
    }
    if (node.op === 'id') {
      const name = node.args as string;
      if (!bound.has(name)) use(found, name).whole_at ??= node.start;
      continue;
    }
    const binding = bindingOf(node);
    if (binding === null) {
      for (const inner of nodesIn(node.args)) pending.push({ node: inner, bound });
      continue;
    }
    const inside = new Set(bound).add(binding.name);
    for (const inner of binding.outside) pending.push({ node: inner, bound });
    for (const inner of binding.inside) pending.push({ node: inner, bound: inside });
  }
  refuseHiding(root, found, text);
  return found;
}

function use(found: Map<string, Collected>, variable: string): Collected {
  let known = found.get(variable);
  if (known === undefined) found.set(variable, (known = { members: new Map(), whole_at: null }));
  return known;
}

function selection(node: SyntaxNode): { variable: string; member: string } | null {
  const isIndex = INDEXES.has(node.op);
  if (!isIndex && !SELECTIONS.has(node.op)) return null;
  const [owner, member] = node.args as [SyntaxNode, unknown];
  if (owner.op !== 'id') return null;
  const name = isIndex && isSyntaxNode(member) && member.op === 'value' ? member.args : member;
  return typeof name === 'string' ? { variable: owner.args as string, member: name } : null;
}

/** Variable that a macro defines, with the parts inside and outside of its scope. */
function bindingOf(node: SyntaxNode): { name: string; outside: SyntaxNode[]; inside: SyntaxNode[] } | null {
  if (node.op !== 'rcall') return null;
  const [method, receiver, parameters] = node.args as [string, SyntaxNode, SyntaxNode[]];
  const variable = parameters[0];
  if (variable?.op !== 'id') return null;
  const name = variable.args as string;
  if (node.meta.alternate !== undefined && BINDING_MACROS.has(method)) {
    return { name, outside: [receiver], inside: parameters.slice(1) };
  }
  if (node.meta.macro !== undefined && method === 'bind' && parameters.length === 3) {
    return { name, outside: [receiver, parameters[1]!], inside: [parameters[2]!] };
  }
  return null;
}

function refuseHiding(root: SyntaxNode, found: ReadonlyMap<string, Collected>, text: string): void {
  const pending = [root];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    const binding = bindingOf(node);
    if (binding !== null && found.has(binding.name)) {
      throw new ExpressionError(
        text,
        `"${binding.name}" is already a variable here; give this one another name`,
        node.start,
      );
    }
    pending.push(...nodesIn(node.args));
  }
}

function nodesIn(value: unknown): SyntaxNode[] {
  if (isSyntaxNode(value)) return [value];
  return Array.isArray(value) ? value.flatMap(nodesIn) : [];
}
