import type { JsonObject } from '@heddle/base/json';
import { isObject, shown } from '@heddle/base/parse/faults';
import type { Members } from '@heddle/base/parse/members';
import { secretNameOf } from '@heddle/base/vocabulary/secret-reference';
import { placeOf } from '@heddle/base/parse/path';
import { COMMAND_TIERS, type CommandTier } from '@heddle/executor/execution/commands';
import { describeMember, schemaOf, textsMember } from '../definition/input-schema.ts';

/** Where the result of a command comes from: its standard output, or the file that `$HEDDLE_RESULT` names. */
const RESULT_SOURCES = ['file', 'text', 'json', 'jsonl'] as const;
export type ResultSource = (typeof RESULT_SOURCES)[number];

const SHELLS = ['bash', 'sh'] as const;
const ARGUMENTS_MAX = 10_000;
const TEXT_CHARS_MAX = 100_000;
const ENTRIES_MAX = 1_000;
const IMAGE = /^[A-Za-z0-9][A-Za-z0-9._:/@-]*$/;
const IMAGE_CHARS_MAX = 500;
const GLOBS_MAX = 100;
const GLOB_CHARS_MAX = 200;
const ANY_DEPTH_MAX = 2;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,254}$/;
const NO_SECRETS = 'names a secret, but this worker has no database to read it from';
const MEMORY_DEFAULT_MB = 512;
const TIMEOUT_MAX_SECS = 31_536_000;

export interface CommandInput {
  argv: readonly string[];
  env: Readonly<Record<string, string>>;
  stdin: string;
  /** Content, or an artifact. */
  files: Readonly<Record<string, string | { artifact: string }>>;
  /** Globs. */
  artifacts: readonly string[];
  isolation: CommandTier | null;
  image: string | null;
  success_exit_codes: readonly number[];
  result: ResultSource;
  memory_mb: number;
  network: boolean;
  /** From the start of the command; null: that of the task alone. */
  timeout_secs: number | null;
}

const MEMBERS = [
  ...['argv', 'run', 'shell', 'env', 'stdin', 'files', 'artifacts', 'isolation', 'image'],
  ...['success_exit_codes', 'result', 'memory_mb', 'network', 'timeout_secs'],
];

export const commandSchema = schemaOf<CommandInput, JsonObject>((input) => {
  input.refuseOthers(MEMBERS);
  return {
    argv: readArguments(input),
    env: readTexts(input, 'env', (name) => (VARIABLE.test(name) ? null : 'is not a name of an environment variable')),
    stdin: input.has('stdin') ? (readText(input, 'stdin') ?? '') : '',
    files: readFiles(input),
    artifacts: readGlobs(input),
    isolation: input.oneOf('isolation', COMMAND_TIERS),
    image: readImage(input),
    success_exit_codes: readExitCodes(input),
    result: input.oneOf('result', RESULT_SOURCES) ?? 'file',
    memory_mb: input.integer('memory_mb', 1, 1_048_576) ?? MEMORY_DEFAULT_MB,
    network: input.boolean('network') ?? false,
    timeout_secs: input.integer('timeout_secs', 1, TIMEOUT_MAX_SECS),
  };
});

function readArguments(input: Members): readonly string[] {
  const isBoth = input.has('argv') && input.has('run');
  const argv = textsMember(input, 'argv', { max: ARGUMENTS_MAX, maxChars: TEXT_CHARS_MAX });
  const line = input.text('run', TEXT_CHARS_MAX);
  const shell = input.oneOf('shell', SHELLS) ?? 'bash';
  if (isBoth || (!input.has('argv') && !input.has('run'))) {
    input.fault('argv', 'is required, unless `run` has a shell line; they cannot be combined');
    return [];
  }
  if (argv !== undefined) {
    if (input.has('shell')) input.fault('shell', 'requires `run`');
    if (argv.length === 0) input.fault('argv', 'must begin with the program');
    return argv;
  }
  // A failure in the middle of a line must not look like a success. Without --norc bash takes its socket for a login.
  return shell === 'bash' ? ['bash', '--norc', '-euo', 'pipefail', '-c', line ?? ''] : ['sh', '-eu', '-c', line ?? ''];
}

function readText(input: Members, name: string): string | null {
  const value = input.raw(name);
  if (typeof value === 'string') return value;
  if (secretNameOf(value) !== null) {
    input.fault(name, NO_SECRETS);
    return null;
  }
  // A result of an earlier task that an expression put here.
  if (value !== undefined && value !== null) return JSON.stringify(value);
  input.fault(name, `must be a string, not ${shown(value)}`);
  return null;
}

function readTexts(
  input: Members,
  member: string,
  faultOf: (name: string) => string | null,
  others: ReadonlySet<string> = new Set(),
): Readonly<Record<string, string>> {
  describeMember(input, member, {
    type: 'object',
    maxProperties: ENTRIES_MAX,
    additionalProperties: { type: 'string' },
  });
  const value = input.raw(member) ?? {};
  if (!isObject(value)) {
    input.fault(member, `must be an object of strings, not ${shown(value)}`);
    return {};
  }
  const entries = Object.entries(value);
  if (entries.length > ENTRIES_MAX) input.fault(member, `may have ${ENTRIES_MAX} members, not ${entries.length}`);
  for (const [name, text] of entries.slice(0, ENTRIES_MAX)) {
    const fault = faultOf(name) ?? (others.has(name) ? null : textFault(text));
    if (fault !== null) input.faults.add(placeOf(input.at(member), name), fault);
  }
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}

function textFault(text: unknown): string | null {
  if (typeof text === 'string') return null;
  return secretNameOf(text) === null ? `must be a string, not ${shown(text)}` : NO_SECRETS;
}

function readFiles(input: Members): CommandInput['files'] {
  const artifact = {
    type: 'object',
    properties: { artifact: { type: 'string', minLength: 1 } },
    required: ['artifact'],
  };
  describeMember(input, 'files', {
    type: 'object',
    maxProperties: ENTRIES_MAX,
    additionalProperties: { anyOf: [{ type: 'string' }, { ...artifact, additionalProperties: false }] },
  });
  const value = input.raw('files') ?? {};
  const entries = isObject(value) ? Object.entries(value) : [];
  const stored = entries.flatMap(([name, file]) => {
    const reference = artifactOf(file);
    return reference === null ? [] : [[name, { artifact: reference }] as const];
  });
  const names = new Set(stored.map(([name]) => name));
  const check = (name: string): string | null => (isInside(name) ? null : 'is outside the working directory');
  const texts = readTexts(input, 'files', check, names);
  return { ...texts, ...Object.fromEntries(stored) };
}

/** Returns the reference of `{"artifact": "REFERENCE"}`; null for anything else. */
function artifactOf(value: unknown): string | null {
  if (!isObject(value) || Object.keys(value).length !== 1) return null;
  const { artifact } = value;
  return typeof artifact === 'string' && artifact !== '' ? artifact : null;
}

function readImage(input: Members): string | null {
  const image = input.text('image', IMAGE_CHARS_MAX);
  const isolation = input.raw('isolation');
  if (image === null) {
    if (isolation === 'container') input.fault('image', 'is required by the isolation `container`');
    return null;
  }
  // An image that begins like an option would be one.
  if (!IMAGE.test(image)) input.fault('image', 'must be the name of an image, such as debian:12');
  if (isolation !== undefined && isolation !== null && isolation !== 'container') {
    input.fault('isolation', 'must be `container` with an image');
  }
  return image;
}

function readGlobs(input: Members): readonly string[] {
  const globs = textsMember(input, 'artifacts', { max: GLOBS_MAX, maxChars: GLOB_CHARS_MAX }) ?? [];
  for (const [index, glob] of globs.entries()) {
    // Each of them multiplies the time to match a path.
    if (glob.split('**').length - 1 <= ANY_DEPTH_MAX) continue;
    input.faults.add(placeOf(input.at('artifacts'), index), `may have ** at most ${ANY_DEPTH_MAX} times`);
  }
  return globs;
}

function readExitCodes(input: Members): readonly number[] {
  const code = { type: 'integer', minimum: 0, maximum: 255 };
  describeMember(input, 'success_exit_codes', { type: 'array', minItems: 1, items: code });
  const value = input.raw('success_exit_codes') ?? [0];
  const isCode = (code: unknown): code is number => Number.isInteger(code) && Number(code) >= 0 && Number(code) <= 255;
  if (Array.isArray(value) && value.length > 0 && value.every(isCode)) return value;
  input.fault('success_exit_codes', `must be an array of numbers between 0 and 255, not ${shown(value)}`);
  return [0];
}

function isInside(path: string): boolean {
  return path !== '' && !path.startsWith('/') && !path.includes('\0') && !path.split('/').includes('..');
}
