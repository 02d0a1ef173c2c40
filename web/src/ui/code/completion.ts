import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import type { EditorView } from '@codemirror/view';
import { looseValueOf, placeAt, treeOf } from './json-tree.ts';
import type { CursorPlace } from './json-tree.ts';
import { membersOf, schemasAt, typesOf, valuesOf } from './schema-walk.ts';
import type { MemberDescription, Schema } from './schema-walk.ts';

/** Completes names of members and values that a schema knows. */
export function completeJson(context: CompletionContext, schema: Schema): CompletionResult | null {
  const { state, pos, explicit } = context;
  const tree = treeOf(state);
  const place = tree === null ? null : placeAt(tree, state.doc, pos);
  if (tree === null || place === null || !(explicit || place.isBegun)) return null;
  const document = looseValueOf(tree, state.doc);
  const schemas = schemasAt(schema, place.path, document);
  const options =
    place.wants === 'name' ? nameOptions(place, membersOf(schemas), document) : valueOptions(valuesOf(schemas));
  if (options.length === 0) return null;
  return { from: place.from, to: place.to, options, filter: true, validFor: /^"?[\w$. -]*"?$/ };
}

function nameOptions(
  place: CursorPlace,
  members: ReadonlyMap<string, MemberDescription>,
  document: unknown,
): Completion[] {
  const existing = new Set(Object.keys(objectAt(document, place.path)));
  return [...members]
    .filter(([name]) => !existing.has(name) || place.hasColon)
    .map(([name, { schema, required }]) => ({
      label: JSON.stringify(name),
      displayLabel: name,
      type: 'property',
      detail: detailOf(schema, required),
      ...infoOf(schema),
      boost: required ? 1 : 0,
      apply: (view: EditorView, _completion: Completion, from: number, to: number) => {
        const [before, after] = place.hasColon ? ['', ''] : emptyValueOf(schema);
        insert(view, from, to, `${JSON.stringify(name)}${before}`, after);
      },
    }));
}

function objectAt(document: unknown, path: CursorPlace['path']): object {
  const found = path.reduce<unknown>(
    (at, step) => (at as Record<string | number, unknown> | undefined)?.[step],
    document,
  );
  return typeof found === 'object' && found !== null ? found : {};
}

function valueOptions(values: readonly unknown[]): Completion[] {
  return values.map((value) => ({
    label: JSON.stringify(value),
    type: 'constant',
    apply: (view: EditorView, _completion: Completion, from: number, to: number) =>
      insert(view, from, to, JSON.stringify(value), ''),
  }));
}

/** Inserts a text and leaves the cursor between its two parts. */
function insert(view: EditorView, from: number, to: number, before: string, after: string): void {
  view.dispatch({
    changes: { from, to, insert: `${before}${after}` },
    selection: { anchor: from + before.length },
    userEvent: 'input.complete',
    scrollIntoView: true,
  });
}

function emptyValueOf(schema: Schema): [before: string, after: string] {
  const types = typesOf(schema);
  if (schema['enum'] !== undefined || types.length !== 1) return [': ', ''];
  if (types[0] === 'string') return [': "', '"'];
  if (types[0] === 'object') return [': {', '}'];
  return types[0] === 'array' ? [': [', ']'] : [': ', ''];
}

function detailOf(schema: Schema, required: boolean): string {
  const type = schema['enum'] === undefined ? typesOf(schema).join(' or ') : 'one of several';
  return [type, required ? 'required' : ''].filter((text) => text !== '').join(', ');
}

function infoOf({ description }: Schema): { info?: string } {
  return typeof description === 'string' ? { info: description } : {};
}
