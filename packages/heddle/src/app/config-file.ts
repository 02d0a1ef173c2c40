import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { parseYaml } from '@heddle/base/yaml';

/** Names searched for in the data directory if no file is configured. */
const FILE_NAMES = ['heddle.json', 'heddle.yaml', 'heddle.yml'] as const;
const YAML_NAME = /\.ya?ml$/i;

export interface ConfigurationFile {
  /** Null if there is no file. */
  file: string | null;
  /** Values of settings as strings, by name. */
  values: Record<string, string>;
}

interface Whereabouts {
  named: string | undefined;
  dataDirectory: string;
  /** Base directory of relative paths. */
  workingDirectory: string;
}

/** Reads the configuration file, JSON or YAML depending on its name, and adds what is wrong with it to `faults`. */
export function readConfigurationFile(whereabouts: Whereabouts, faults: string[]): ConfigurationFile {
  const path = pathOf(whereabouts, faults);
  if (path === null) return { file: null, values: {} };
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (error) {
    faults.push(`HEDDLE_CONFIG: ${path} cannot be read: ${(error as Error).message}`);
    return { file: null, values: {} };
  }
  return { file: path, values: textsOf(path, content, faults) };
}

function pathOf({ named, dataDirectory, workingDirectory }: Whereabouts, faults: string[]): string | null {
  if (named !== undefined) return resolve(workingDirectory, named);
  const paths = FILE_NAMES.map((name) => resolve(workingDirectory, join(dataDirectory, name)));
  const [first, second] = paths.filter((path) => existsSync(path));
  if (second !== undefined) faults.push(`HEDDLE_CONFIG: ${first} and ${second} both exist; keep one`);
  return first ?? null;
}

/**
 * Converts numbers, booleans and arrays of strings to their string form, and lists of objects, such as events, to JSON.
 */
function textsOf(path: string, content: string, faults: string[]): Record<string, string> {
  const parsed = parse(path, content, faults);
  if (parsed === undefined) return {};
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    faults.push(`${path}: must be an object such as { "PORT": 8085 }`);
    return {};
  }
  const values: Record<string, string> = {};
  for (const [name, value] of Object.entries(parsed)) {
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      values[name] = String(value);
    else if (Array.isArray(value) && value.every((item) => typeof item === 'string')) values[name] = value.join(',');
    else if (Array.isArray(value) && value.every((item) => typeof item === 'object'))
      values[name] = JSON.stringify(value);
    else faults.push(`${name}: must be a string, a number, true, false or an array of strings (file ${path})`);
  }
  return values;
}

/** Returns undefined and adds a fault if the file cannot be parsed. */
function parse(path: string, content: string, faults: string[]): unknown {
  const isYaml = YAML_NAME.test(path);
  try {
    return isYaml ? parseYaml(content) : JSON.parse(content);
  } catch (error) {
    faults.push(`${path}: is not valid ${isYaml ? 'YAML' : 'JSON'}: ${(error as Error).message}`);
    return undefined;
  }
}
