import { InvalidArgumentError, type Command } from 'commander';

import { systemClock } from '@heddle/base/clock';
import { configurationOfProcess, type Configuration } from '../app/config.ts';
import { Output } from '@heddle/base/terminal/output';

/** Flags for settings; `--set` covers all others. */
const FLAGS = {
  port: { flag: '--port <port>', name: 'PORT', description: 'Port to listen on; 0 for any free one' },
  host: { flag: '--host <address>', name: 'HOST', description: 'address to listen on' },
  hostUrl: { flag: '--host-url <url>', name: 'HOST_URL', description: 'Public URL that webhook targets respond to' },
  dataDir: {
    flag: '--data-dir <directory>',
    name: 'HEDDLE_DATA_DIR',
    description: 'Directory of the embedded database',
  },
  databaseUrl: { flag: '--database-url <url>', name: 'DATABASE_URL', description: 'PostgreSQL database' },
  config: { flag: '--config <file>', name: 'HEDDLE_CONFIG', description: 'configuration file (JSON or YAML)' },
  logLevel: { flag: '--log-level <level>', name: 'RUST_LOG', description: 'error, warn, info, debug or off' },
} as const;

export type FlagName = keyof typeof FLAGS;
type FlagOptions = Partial<Record<FlagName, string>> & { set?: Record<string, string>; json?: boolean };

const COMMON: readonly FlagName[] = ['dataDir', 'databaseUrl', 'config', 'logLevel'];

/** Adds `--json`, the flags of settings, and `--set NAME=VALUE` for every setting. */
export function addSettingsOptions(command: Command, own: readonly FlagName[] = []): Command {
  for (const name of [...own, ...COMMON]) {
    const { flag, description, name: variable } = FLAGS[name];
    command.option(flag, `${description} (${variable})`);
  }
  return command
    .option('--set <NAME=VALUE>', 'Any setting listed by `heddle config`; may be repeated', collectSetting)
    .option('--json', 'Print only JSON on standard output');
}

function collectSetting(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('It must be NAME=VALUE, such as PORT=8090.');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

/** Collects the values of an option that may be repeated. */
export function collectModule(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}

/** Converts repeated `--module` options to the value of their setting. */
export function modulesOf({ module }: { module?: readonly string[] }): Record<string, string> {
  return module === undefined ? {} : { HEDDLE_MODULES: module.join(',') };
}

/** The settings given by the options of a command line, by variable. */
export function flagsOf(options: FlagOptions): Record<string, string> {
  const flags: Record<string, string> = { ...options.set };
  for (const [name, { name: variable }] of Object.entries(FLAGS)) {
    const value = options[name as FlagName];
    if (value !== undefined) flags[variable] = value;
  }
  return flags;
}

/** Loads the configuration of a command: flags over environment over file. Throws ConfigurationError. */
export function configurationOf(options: FlagOptions): Configuration {
  return configurationOfProcess(flagsOf(options));
}

export function outputOf(options: { json?: boolean }): Output {
  const { stdout, stderr } = process;
  return new Output({ stdout, stderr, json: options.json === true, clock: systemClock });
}
