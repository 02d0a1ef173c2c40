import { extensionOf } from './file-kind.ts';
import { decodeUtf8 } from '../matches.ts';
import { braceKeys } from './brace-keys.ts';
import { jsonKeys } from './json-keys.ts';
import { sectionKeys } from './section-keys.ts';
import { xmlKeys } from './xml-keys.ts';
import { yamlKeys } from './yaml-keys.ts';

/** Formats whose keys are read, tolerantly, from the text around a value. */
export type StructureFormat = 'json' | 'yaml' | 'sections' | 'xml' | 'braces';

/** The keys that lead to a value, outermost first; list positions are `[3]`. */
export interface Keys {
  keys: string[];
  /** The name beside the value, as in `name: DB_PASSWORD` for a `value`. */
  name?: string;
  /** True if further keys may lie before the text. */
  isCut: boolean;
}

export interface KeyPath {
  key_path?: string;
  key_name?: string;
}

const FORMATS: Readonly<Record<StructureFormat, string>> = {
  json: 'json json5 jsonc ipynb tfstate har',
  yaml: 'yml yaml',
  sections: 'toml ini cfg conf cnf properties env prefs editorconfig npmrc pypirc desktop service',
  xml: 'xml config plist csproj props targets resx xaml settings',
  braces: 'tf tfvars hcl nomad',
};

const BY_EXTENSION = new Map(
  Object.entries(FORMATS).flatMap(([format, names]) =>
    names.split(' ').map((name) => [name, format as StructureFormat]),
  ),
);

const PATH_LENGTH_MAX = 200;
const KEY_LENGTH_MAX = 60;

/** Returns the format of an object by its name; null for text whose structure is not read. */
export function structureOf(path: string): StructureFormat | null {
  return BY_EXTENSION.get(extensionOf(path)) ?? null;
}

const READERS: Readonly<Record<StructureFormat, (text: string, at: number) => Keys>> = {
  json: jsonKeys,
  yaml: yamlKeys,
  sections: sectionKeys,
  xml: xmlKeys,
  braces: braceKeys,
};

/**
 * Returns the keys that lead to the value at an offset of a text (bytes as latin1). Reads nothing but the text, so the result depends on
 * a fixed number of bytes around the value only. `isWhole`: the text begins at the object's beginning.
 */
export function keyPathOf(
  text: string,
  at: number,
  { format, isWhole }: { format: StructureFormat | null; isWhole: boolean },
): KeyPath {
  if (format === null) return {};
  const { keys, name, isCut } = READERS[format](text, at);
  const named = name === undefined || name === '' ? {} : { key_name: shortened(name) };
  if (keys.length === 0) return named;
  return { key_path: joined(keys.map(shortened), isCut && !isWhole), ...named };
}

function joined(keys: readonly string[], isCut: boolean): string {
  const path = keys.reduce((all, key) => (key.startsWith('[') || all === '' ? `${all}${key}` : `${all}.${key}`), '');
  if (path.length > PATH_LENGTH_MAX) return `…${path.slice(path.length - PATH_LENGTH_MAX)}`;
  return isCut ? `….${path}` : path;
}

function shortened(latin1: string): string {
  const key = decodeUtf8(latin1);
  return key.length > KEY_LENGTH_MAX ? `${key.slice(0, KEY_LENGTH_MAX)}…` : key;
}
