import { accessSync, constants } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import {
  openContainerRunner,
  openRunner,
  type CommandRunner,
  type CommandTier,
  type ContainerOptions,
} from '@heddle/executor/execution/commands';
import type { KindDefinition } from '@heddle/kit';
import { command } from '../kinds/command/command.ts';
import { engineEnvironment } from './remote/executor-tiers.ts';
import type { SettingValues } from './settings.ts';
import type { StopSequence } from './stop-sequence.ts';

const MIB = 1024 * 1024;

export interface CommandKindsOptions {
  settings: SettingValues;
  /** Whether commands run in a jail although the settings enable nothing. */
  jailByDefault: boolean;
  clock: Clock;
  log: Logger;
  stopping: StopSequence;
}

/** Returns the kind that runs programs, if any isolation is enabled. What runs them is opened by the first command. */
export function commandKinds({ settings, jailByDefault, clock, log, stopping }: CommandKindsOptions): KindDefinition[] {
  const tiers = commandTiersOf(settings, jailByDefault);
  if (tiers.length === 0) return [];
  const opened = new Map<CommandTier, Promise<CommandRunner>>();
  const open = (tier: CommandTier): Promise<CommandRunner> => {
    const known = opened.get(tier);
    if (known !== undefined) return known;
    const runner = openCommandRunner(tier, settings, { clock, log });
    opened.set(tier, runner);
    // Another attempt may find that the administrator has installed what was missing.
    runner.catch(() => opened.delete(tier));
    return runner;
  };
  stopping.add('the commands', async () => {
    for (const runner of opened.values()) await (await runner.catch(() => null))?.close();
  });
  const {
    commandPrograms: programs,
    commandImages: images,
    commandNetwork: network,
    commandMemoryMb,
    commandConcurrency,
  } = settings;
  const runners = new Map(tiers.map((tier) => [tier, () => open(tier)]));
  return [
    command({
      runners,
      programs,
      images,
      network,
      memoryMaxMb: commandMemoryMb,
      concurrency: commandConcurrency,
      clock,
    }),
  ];
}

/** @throws HeddleError VALIDATION_FAILED if the machine does not support the tier */
export function openCommandRunner(
  tier: CommandTier,
  settings: SettingValues,
  parts: Pick<CommandKindsOptions, 'clock' | 'log'>,
): Promise<CommandRunner> {
  const options = { ...parts, directory: tmpdir(), diskBytes: settings.commandDiskMb * MIB };
  return tier === 'container'
    ? openContainerRunner({ ...options, container: containerOf(settings) })
    : openRunner(tier, { ...options, processors: settings.commandProcessors });
}

/**
 * Returns how commands may be isolated; empty: they are off.
 * @param jailByDefault whether they run in a jail although the settings enable nothing
 */
export function commandTiersOf({ commands }: SettingValues, jailByDefault: boolean): readonly CommandTier[] {
  if (commands.includes('off')) return [];
  if (commands.length === 0 && jailByDefault && hasBubblewrap()) return ['jail'];
  return commands as readonly CommandTier[];
}

function containerOf({ commandEngine, commandParameters, commandProcessors: cpus }: SettingValues): ContainerOptions {
  return {
    command: commandEngine === '' ? (isInstalled('podman') ? 'podman' : 'docker') : commandEngine,
    parameters: commandParameters,
    cpus,
    environment: engineEnvironment(process.env),
  };
}

function hasBubblewrap(): boolean {
  return process.platform === 'linux' && isInstalled('bwrap');
}

function isInstalled(program: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
