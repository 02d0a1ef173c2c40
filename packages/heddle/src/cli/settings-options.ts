import { InvalidArgumentError, type Command } from 'commander';

import { systemClock } from '@heddle/base/clock';
import { configurationOfProcess, type Configuration } from '../app/config.ts';
import { SETTINGS, type SettingKey } from '../app/settings.ts';
import { Output } from '@heddle/base/terminal/output';
import { textOption } from '@heddle/base/terminal/setting-options';

/** The options that all commands with settings have. The values of settings are kept by their variables. */
export interface SettingsOptions {
  set?: Record<string, string>;
  json?: boolean;
}

const COMMON: readonly SettingKey[] = ['dataDir', 'databaseUrl', 'configFile', 'logLevel'];

/** The settings of a server that have flags. */
export const SERVER_KEYS: readonly SettingKey[] = ['port', 'host', 'hostUrl'];

/** Adds `--json`, the flags of settings, and `--set NAME=VALUE` for every setting. */
export function addSettingsOptions(command: Command, own: readonly SettingKey[] = []): Command {
  for (const key of [...own, ...COMMON]) command.addOption(textOption(SETTINGS[key]));
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
export function collect(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}

/** The settings given by the options of a command line, by variable. */
export function flagsOf({ set, ...options }: SettingsOptions): Record<string, string> {
  const given = Object.values(SETTINGS).map(({ name }) => [name, (options as Record<string, string>)[name]] as const);
  return { ...set, ...Object.fromEntries(given.filter((each): each is [string, string] => each[1] !== undefined)) };
}

/** Loads the configuration of a command: flags over environment over file. Throws ConfigurationError. */
export function configurationOf(options: SettingsOptions): Configuration {
  return configurationOfProcess(flagsOf(options));
}

export function outputOf(options: { json?: boolean }): Output {
  const { stdout, stderr } = process;
  return new Output({ stdout, stderr, json: options.json === true, clock: systemClock });
}
