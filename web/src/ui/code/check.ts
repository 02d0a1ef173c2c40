import type { EditorState } from '@codemirror/state';
import { formatPath } from './json-path.ts';
import type { Fault } from './json-path.ts';
import { findSyntaxFault, rangeOf, treeOf } from './json-tree.ts';
import type { Range } from './json-tree.ts';
import { schemaFaults } from './schema-faults.ts';
import type { Schema } from './schema-walk.ts';

export interface PlacedFault extends Range {
  line: number;
  message: string;
}

interface Judgement {
  schema: Schema | null;
  /** What the server found. */
  server: readonly Fault[];
  /** What paths begin with in messages; a word, or nothing. */
  root: string;
}

/** Everything that is wrong with a document, in its order: its syntax, else what the schema and the server say. */
export function checkDocument(state: EditorState, { schema, server, root }: Judgement): PlacedFault[] {
  const { doc } = state;
  const tree = treeOf(state);
  if (tree === null) return [];
  const broken = findSyntaxFault(tree, doc);
  const placed = (range: Range, message: string): PlacedFault => ({
    ...range,
    line: doc.lineAt(range.from).number,
    message,
  });
  if (broken !== null) return [placed(broken, syntaxMessage(doc.sliceString(broken.from)))];
  const value = parsed(doc.toString());
  if (value === undefined) return [];
  const local = schema === null ? [] : schemaFaults(schema, value);
  const faults = [...local, ...server];
  return faults
    .map(({ path, message }) => {
      const name = formatPath(root === '' ? path : [root, ...path]);
      return placed(rangeOf(tree, doc, path), name === '' ? message : `${name}: ${message}`);
    })
    .sort((a, b) => a.from - b.from);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function syntaxMessage(rest: string): string {
  if (rest.trim() === '') return 'The text ends too early: a value, a quote or a closing bracket is missing';
  return 'This is not JSON: a comma, a quote, a colon or a bracket is missing or in the wrong place';
}
