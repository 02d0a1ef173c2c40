import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { parseYaml } from '../runtime/yaml.ts';

/** Looked for in the data directory where no file is named. */
const FILE_NAMES = ['heddle.json', 'heddle.yaml', 'heddle.yml'] as const;
const YAML_NAME = /\.ya?ml$/i;

export interface ConfigurationFile {
  /** Null where there is none. */
  file: string | null;
  /** Texts of settings, by name. */
  values: Record<string, string>;
}

interface Whereabouts {
  named: string | undefined;
  dataDirectory: string;
  /** What relative paths start from. */
  workingDirectory: string;
}

/** Reads the configuration file, JSON or YAML by its name; adds what is wrong with it to `faults`. */
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
  if (second !== undefined) faults.push(`HEDDLE_CONFIG: ${first} and ${second} are both there; keep one`);
  return first ?? null;
}

/** Numbers, booleans and arrays of strings stand for their texts; lists of objects, such as events, for their JSON. */
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

/** Undefined, with a fault, where it cannot be parsed. */
function parse(path: string, content: string, faults: string[]): unknown {
  const isYaml = YAML_NAME.test(path);
  try {
    return isYaml ? parseYaml(content) : JSON.parse(content);
  } catch (error) {
    faults.push(`${path}: is not ${isYaml ? 'YAML' : 'JSON'}: ${(error as Error).message}`);
    return undefined;
  }
}
