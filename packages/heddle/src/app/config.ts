import { resolve } from 'node:path';

import { readConfigurationFile } from './config-file.ts';
import type { Logger } from '@heddle/base/log';
import { ConfigurationError } from '@heddle/base/terminal/failure';
import { artifactFaults } from './artifacts/open.ts';
import { oidcFaults } from './oidc/settings.ts';
import { ec2Faults } from './pool/ec2.ts';
import { poolFaults } from './pool/policy.ts';
import type { Setting } from './setting.ts';
import { SETTINGS, type SettingKey, type SettingValues } from './settings.ts';
import { fitDefaults } from './fit-defaults.ts';

export type SettingSource = 'flag' | 'environment' | 'file' | 'default';

/** The effective value of one setting, for display: secrets are left out. */
export interface EffectiveSetting {
  key: SettingKey;
  name: string;
  value: string;
  source: SettingSource;
}

export interface Configuration {
  readonly values: SettingValues;
  readonly effective: readonly EffectiveSetting[];
  /** The file that was read; null if there was none. */
  readonly file: string | null;
  /** Values given by flags, by the variable that each flag sets; passed on to the processes that this one starts. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  /** Variables that look like settings but are not: most likely misspelled. */
  readonly unknownVariables: readonly string[];
}

export interface ConfigurationSources {
  /** By variable name; they take precedence over everything else. */
  flags: Readonly<Record<string, string | undefined>>;
  environment: Readonly<Record<string, string | undefined>>;
  /** Base directory of relative paths. */
  workingDirectory: string;
}

interface Given {
  text: string;
  source: SettingSource;
}

type AnySetting = Setting<unknown>;

/** Variables of the client commands and the tests. */
const OTHER_VARIABLES = /^HEDDLE_(URL|TOKEN|TEST_.*|BENCH_.*)$/;

const entries = Object.entries(SETTINGS) as [SettingKey, AnySetting][];
const byName = new Map<string, SettingKey>(
  entries.flatMap(([key, { name, aliases }]) => [name, ...aliases].map((each) => [each, key] as const)),
);

/**
 * Loads the configuration: flags over environment over file over defaults. An empty variable counts as unset, except
 * for lists, where it is the empty list.
 * @throws ConfigurationError that names every fault at once
 */
export function loadConfiguration(sources: ConfigurationSources): Configuration {
  const faults: string[] = [];
  const given = new Map<SettingKey, Given>();
  collect(sources.flags, 'flag', given, faults);
  const unknownVariables = collect(sources.environment, 'environment', given);
  const dataDirectory = given.get('dataDir')?.text ?? SETTINGS.dataDir.fallback;
  const named = given.get('configFile')?.text;
  const { workingDirectory } = sources;
  const { file, values: fileValues } = readConfigurationFile({ named, dataDirectory, workingDirectory }, faults);
  collect(fileValues, 'file', given, faults);

  const parsed = Object.fromEntries(entries.map(([key, setting]) => [key, valueOf(setting, given.get(key), faults)]));
  const values = fitDefaults(parsed as unknown as SettingValues, given);
  if (faults.length === 0) faults.push(...contradictions(values));
  if (faults.length > 0) throw new ConfigurationError(faults);
  const effective = entries.map(([key, setting]) => {
    return { key, name: setting.name, value: setting.show(values[key]), source: given.get(key)?.source ?? 'default' };
  });
  const settled = { ...values, dataDir: resolve(sources.workingDirectory, values.dataDir) };
  return { values: settled, effective, file, flags: sources.flags, unknownVariables };
}

/** Adds the settings of one source that no earlier source has set. Returns HEDDLE_ names that are not settings. */
function collect(
  source: Readonly<Record<string, string | undefined>>,
  origin: SettingSource,
  given: Map<SettingKey, Given>,
  faults?: string[],
): string[] {
  const unknown: string[] = [];
  for (const [name, text] of Object.entries(source)) {
    if (text === undefined) continue;
    const key = byName.get(name);
    if (key === undefined) {
      faults?.push(`${name}: unknown setting (${origin}); \`heddle config\` lists all settings`);
      if (name.startsWith('HEDDLE_') && !OTHER_VARIABLES.test(name)) unknown.push(name);
      continue;
    }
    const isList = Array.isArray(SETTINGS[key].fallback);
    if (given.has(key) || (text.trim() === '' && !isList)) continue;
    given.set(key, { text: text.trim(), source: origin });
  }
  return unknown;
}

function valueOf(setting: AnySetting, given: Given | undefined, faults: string[]): unknown {
  if (given === undefined) return setting.fallback;
  const parsed = setting.parse(given.text);
  if (parsed !== null) return parsed.value;
  faults.push(`${setting.name}: must be ${setting.allowed}, not ${quoted(setting, given.text)} (${given.source})`);
  return setting.fallback;
}

/** Quotes the given value, unless it may hold a password or a key. */
function quoted(setting: AnySetting, text: string): string {
  if (setting.secret || text.includes('@')) return 'the given value';
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}

/** Settings that are valid by themselves but contradict each other. */
function contradictions(values: SettingValues): string[] {
  const faults: string[] = [];
  if (values.poolMinIdle > values.poolMaxSize) {
    faults.push(`POOL_MIN_IDLE: must be at most POOL_MAX_SIZE (${values.poolMaxSize}), not ${values.poolMinIdle}`);
  }
  if (values.paginationDefault > values.paginationMax) {
    faults.push(
      `PAGINATION_DEFAULT: must be at most PAGINATION_MAX (${values.paginationMax}), not ${values.paginationDefault}`,
    );
  }
  const { pathname = '/', search = '' } = values.hostUrl === null ? {} : new URL(values.hostUrl);
  faults.push(...poolFaults(values), ...ec2Faults(values), ...artifactFaults(values), ...oidcFaults(values));
  if (search !== '') faults.push('HOST_URL: must be a base URL without a query');
  if (pathname.includes('//')) faults.push('HOST_URL: must be a base URL without empty path segments');
  return faults;
}

/** Loads the configuration from the files and variables that apply to a command line with these `flags`. */
export function configurationOfProcess(flags: Readonly<Record<string, string | undefined>>): Configuration {
  return loadConfiguration({ flags, environment: process.env, workingDirectory: process.cwd() });
}

/** Logs misspelled variables, which have no effect. */
export function warnUnknownVariables({ unknownVariables }: Configuration, log: Logger): void {
  for (const name of unknownVariables) log.warn({ variable: name }, `${name} is set, but is not a setting`);
}
