import { ensureSyntaxTree } from '@codemirror/language';
import type { EditorState, Text } from '@codemirror/state';
import type { JsonPath } from './json-path.ts';

export type Tree = NonNullable<ReturnType<typeof ensureSyntaxTree>>;
type SyntaxNode = Tree['topNode'];

/** Milliseconds that reading a document may take at once; a longer one is not checked until it is read. */
const PARSE_MS = 500;

export interface Range {
  from: number;
  to: number;
}

export function treeOf(state: EditorState): Tree | null {
  return ensureSyntaxTree(state, state.doc.length, PARSE_MS);
}

/** Where the text stops being JSON; null: it is JSON. */
export function findSyntaxFault(tree: Tree, doc: Text): Range | null {
  let found: Range | null = null;
  tree.iterate({
    enter: ({ type, from, to }) => {
      if (found === null && type.isError) found = { from, to };
      return found === null;
    },
  });
  if (found !== null || rootOf(tree) !== null) return found;
  return { from: 0, to: doc.length };
}

function rootOf(tree: Tree): SyntaxNode | null {
  return valuesOf(tree.topNode)[0] ?? null;
}

const VALUES = new Set(['True', 'False', 'Null', 'Number', 'String', 'Object', 'Array']);

function valuesOf(node: SyntaxNode): SyntaxNode[] {
  const found: SyntaxNode[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    if (VALUES.has(child.name)) found.push(child);
  }
  return found;
}

/** Where a value is; for a member that does not exist, the opening of the object that lacks it. */
export function rangeOf(tree: Tree, doc: Text, path: JsonPath): Range {
  let node = rootOf(tree);
  for (const [index, step] of path.entries()) {
    const isLast = index === path.length - 1;
    if (node === null) break;
    if (typeof step === 'number') {
      const next: SyntaxNode | undefined = node.name === 'Array' ? valuesOf(node)[step] : undefined;
      if (next === undefined) break;
      node = next;
      continue;
    }
    const member = node.name === 'Object' ? memberOf(node, doc, step) : null;
    if (member === null) break;
    const value: SyntaxNode | null = valuesOf(member)[0] ?? null;
    if (isLast) return { from: member.from, to: (value ?? member).to };
    if (value === null) break;
    node = value;
  }
  if (node === null) return { from: 0, to: Math.min(1, doc.length) };
  const isOpened = node.name === 'Object' || node.name === 'Array';
  return { from: node.from, to: isOpened ? node.from + 1 : node.to };
}

function memberOf(object: SyntaxNode, doc: Text, name: string): SyntaxNode | null {
  for (const property of object.getChildren('Property')) {
    if (nameOf(property, doc) === name) return property;
  }
  return null;
}

function nameOf(property: SyntaxNode, doc: Text): string | null {
  const name = property.getChild('PropertyName');
  return name === null ? null : (literalOf(doc, name) as string | null);
}

function literalOf(doc: Text, { from, to }: Range): unknown {
  try {
    return JSON.parse(doc.sliceString(from, to));
  } catch {
    return null;
  }
}

/** The value at a node, of an unfinished document, too: what is missing is left out. */
function valueOf(node: SyntaxNode | null, doc: Text): unknown {
  if (node === null) return undefined;
  if (node.name === 'Array') return valuesOf(node).map((each) => valueOf(each, doc));
  if (node.name !== 'Object') return literalOf(doc, node);
  const members = node.getChildren('Property').flatMap((property) => {
    const name = nameOf(property, doc);
    const value = valuesOf(property)[0];
    return name === null || value === undefined ? [] : [[name, valueOf(value, doc)] as const];
  });
  return Object.fromEntries(members);
}

/** The document as far as it can be read. */
export function looseValueOf(tree: Tree, doc: Text): unknown {
  return valueOf(rootOf(tree), doc);
}

export interface CursorPlace {
  /** Of the object whose member is named here, or of the value that is written here. */
  path: JsonPath;
  wants: 'name' | 'value';
  /** What a completion replaces. */
  from: number;
  to: number;
  /** Whether a colon follows, so that a name needs none. */
  hasColon: boolean;
  /** Whether something is written here already: completions may appear without being asked for. */
  isBegun: boolean;
}

/** What can be completed at a position; null: nothing. */
export function placeAt(tree: Tree, doc: Text, position: number): CursorPlace | null {
  const word = wordBefore(doc, position);
  let node: SyntaxNode | null = tree.resolveInner(position, -1);
  // At the opening of a value nothing of it is written yet.
  if ((node.name === '{' || node.name === '[') && node.parent !== null) node = node.parent;
  if (node.type.isError || node.name === ':' || node.name === ',') node = node.parent;
  if (node === null) return null;
  if (node.name === 'PropertyName') {
    const object = node.parent!.parent!;
    return {
      path: pathOf(object, doc),
      wants: 'name',
      from: node.from,
      to: node.to,
      hasColon: /^\s*:/.test(doc.sliceString(node.to, node.to + 50)),
      isBegun: true,
    };
  }
  const isLiteral = VALUES.has(node.name) && node.name !== 'Object' && node.name !== 'Array';
  if (isLiteral && position > node.from) {
    return { path: pathOf(node, doc), wants: 'value', from: node.from, to: node.to, hasColon: false, isBegun: true };
  }
  const here = { from: position - word.length, to: position, hasColon: false, isBegun: word !== '' };
  if (node.name === 'Property') {
    return { ...here, path: pathOf(node, doc), wants: isAfterColon(doc, position) ? 'value' : 'name' };
  }
  if (node.name === 'Object') {
    if (isAfterColon(doc, position - word.length)) {
      const property = node.childBefore(position);
      return property === null ? null : { ...here, path: pathOf(property, doc), wants: 'value' };
    }
    return { ...here, path: pathOf(node, doc), wants: 'name' };
  }
  if (node.name === 'Array') {
    const before = valuesOf(node).filter(({ to }) => to <= position).length;
    return { ...here, path: [...pathOf(node, doc), before], wants: 'value' };
  }
  return node.name === 'JsonText' ? { ...here, path: [], wants: 'value' } : null;
}

function wordBefore(doc: Text, position: number): string {
  const line = doc.lineAt(position);
  return /[\w$.-]*$/.exec(line.text.slice(0, position - line.from))![0];
}

function isAfterColon(doc: Text, position: number): boolean {
  return /:\s*$/.test(doc.sliceString(Math.max(0, position - 200), position));
}

/** The path of the value, or of the value of the member. */
function pathOf(node: SyntaxNode, doc: Text): JsonPath {
  const path: (string | number)[] = [];
  for (let at: SyntaxNode | null = node; at !== null; at = at.parent) {
    if (at.name === 'Property') path.unshift(nameOf(at, doc) ?? '');
    else if (at.parent?.name === 'Array' && VALUES.has(at.name)) {
      const { from } = at;
      path.unshift(valuesOf(at.parent).findIndex((each) => each.from === from));
    }
  }
  return path;
}
