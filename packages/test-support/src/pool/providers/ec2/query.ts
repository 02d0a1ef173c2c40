/** A parsed call of the Query protocol: strings by names that nest with numbers and dots. */
export interface QueryValue {
  readonly text: string | undefined;
  readonly members: ReadonlyMap<string, QueryValue>;
}

interface Node {
  text: string | undefined;
  members: Map<string, Node>;
}

export function parseQuery(body: string): QueryValue {
  const root: Node = { text: undefined, members: new Map() };
  for (const [name, text] of new URLSearchParams(body)) {
    let node = root;
    for (const part of name.split('.')) {
      let next = node.members.get(part);
      if (next === undefined) node.members.set(part, (next = { text: undefined, members: new Map() }));
      node = next;
    }
    node.text = text;
  }
  return root;
}

export function textAt(value: QueryValue, path: string): string | undefined {
  return valueAt(value, path)?.text;
}

/** Returns the numbered members of a list in order; empty if there is none. */
export function listAt(value: QueryValue, path: string): QueryValue[] {
  const list = valueAt(value, path);
  if (list === undefined) return [];
  return [...list.members].sort(([a], [b]) => Number(a) - Number(b)).map(([, member]) => member);
}

function valueAt(value: QueryValue, path: string): QueryValue | undefined {
  let found: QueryValue | undefined = value;
  for (const part of path.split('.')) found = found?.members.get(part);
  return found;
}

/** An XML element; strings are escaped, lists become `item`s. */
export type Xml = string | number | readonly Xml[] | { readonly [name: string]: Xml | undefined };

export function toXml(name: string, value: Xml): string {
  return `<${name}>${contentOf(value)}</${name}>`;
}

function contentOf(value: Xml): string {
  if (typeof value === 'string' || typeof value === 'number') return escaped(String(value));
  if (Array.isArray(value)) return (value as readonly Xml[]).map((item) => toXml('item', item)).join('');
  return Object.entries(value as Record<string, Xml | undefined>)
    .map(([name, member]) => (member === undefined ? '' : toXml(name, member)))
    .join('');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
