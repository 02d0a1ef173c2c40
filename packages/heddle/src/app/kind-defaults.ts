import { isLoopbackHost } from '@heddle/base/net/classify';
import { commandTiersOf } from './command-kinds.ts';
import type { Configuration } from './config.ts';
import { EXAMPLE_NAMES } from './example-names.ts';
import type { ServerKindsOptions } from './kinds.ts';
import { SETTINGS, type SettingValues } from './settings.ts';

interface Defaults {
  settings: SettingValues;
  /** Whether this is a `heddle up`. */
  development: boolean;
}

/** What kinds may do where nothing is configured. */
export function kindDefaultsOf({
  settings,
  development,
}: Defaults): Pick<ServerKindsOptions, 'jailByDefault' | 'defaultScanRoot' | 'followedNames'> {
  const isPrivate = development && isLoopbackHost(settings.host);
  return {
    jailByDefault: isPrivate,
    // Anyone who can reach a loopback listener can read the working directory anyway.
    defaultScanRoot: isPrivate ? process.cwd() : null,
    followedNames: development && settings.examples ? EXAMPLE_NAMES : [],
  };
}

/** The settings of runner processes by which they run the kinds of this server as it does. */
export function runnerVariablesOf(options: Defaults & Pick<Configuration, 'flags'>): Configuration['flags'] {
  const { settings, flags } = options;
  const { jailByDefault, defaultScanRoot } = kindDefaultsOf(options);
  const tiers = settings.commands.length === 0 ? commandTiersOf(settings, jailByDefault) : [];
  const isScanning = settings.scanRoots.length === 0 && defaultScanRoot !== null;
  return {
    ...flags,
    ...(tiers.length > 0 ? { [SETTINGS.commands.name]: tiers.join(',') } : {}),
    ...(isScanning ? { [SETTINGS.scanRoots.name]: defaultScanRoot } : {}),
  };
}
