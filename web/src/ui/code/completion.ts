import { startCompletion } from '@codemirror/autocomplete';
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
  const fitting = matching(options, state.sliceDoc(place.from, pos).replace(/^"/, ''));
  // Filtered here, since a quote that closes already would count as something typed.
  return fitting.length === 0 ? null : { from: place.from, to: place.to, options: fitting, filter: false };
}

/** Those that contain what is typed, first those that begin with it. */
function matching(options: readonly Completion[], typed: string): Completion[] {
  const wanted = typed.toLowerCase();
  const places = options.map((option) => ({
    option,
    at: option.label.toLowerCase().replace(/^"/, '').indexOf(wanted),
  }));
  const found = places.filter(({ at }) => at !== -1);
  return found.sort((a, b) => Math.min(a.at, 1) - Math.min(b.at, 1)).map(({ option }) => option);
}

function nameOptions(
  place: CursorPlace,
  members: ReadonlyMap<string, MemberDescription>,
  document: unknown,
): Completion[] {
  const existing = new Set(Object.keys(objectAt(document, place.path)));
  return [...members]
    .sort(([, a], [, b]) => Number(b.required) - Number(a.required))
    .filter(([name]) => !existing.has(name) || place.hasColon)
    .map(([name, { schema, required }]) => ({
      label: JSON.stringify(name),
      displayLabel: name,
      type: 'property',
      detail: detailOf(schema, required),
      ...infoOf(schema),
      apply: (view: EditorView, _completion: Completion, from: number, to: number) => {
        const [before, after] = place.hasColon ? ['', ''] : emptyValueOf(schema);
        insert(view, from, to, `${JSON.stringify(name)}${before}`, after);
        if (!place.hasColon && valuesOf([schema]).length > 0) startCompletion(view);
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
