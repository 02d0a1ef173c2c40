import { createRequire } from 'node:module';

import type * as Yaml from 'yaml';

/** Loaded lazily: it would be a quarter of every command's start-up time. */
const load = createRequire(import.meta.url);

/**
 * Parses one YAML 1.2 document, of which JSON is a subset. Rejects duplicate keys, unknown tags and aliases that expand
 * to more than a hundred times their size.
 *
 * @throws Error naming the fault, with line and column
 */
export function parseYaml(text: string): unknown {
  const { parseDocument } = load('yaml') as typeof Yaml;
  const document = parseDocument(text, { version: '1.2', schema: 'core', prettyErrors: false, logLevel: 'silent' });
  const [fault] = [...document.errors, ...document.warnings];
  if (fault === undefined) return document.toJS();
  const { line, column } = positionIn(text, fault.pos[0]);
  throw new Error(`${fault.message} at line ${line}, column ${column}`);
}

function positionIn(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset);
  return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') };
}
