import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { messageOf } from '@heddle/base/thrown';
import { ControlGroups } from '../control-groups.ts';
import { withDefaults } from '../options.ts';
import { requireCommands, tierUnavailable } from '../probe.ts';
import { Slots, USERS, type UserRange } from '../slots.ts';
import { Stage } from '../stage.ts';
import { Starter } from '../starter/starter.ts';
import type { CommandLimits } from './command-line.ts';
import { LocalRunner } from './local-runner.ts';
import type { CommandRunner } from './port.ts';

const MIB = 1024 * 1024;

export interface RunnerOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Parent of working directories; every user of the machine must be able to traverse it. */
  readonly directory: string;
  /** Bytes that a working directory may take, and the largest file; default 1 GiB. */
  readonly diskBytes?: number;
  /** Bytes of each temporary file system of a jail; default 64 MiB. */
  readonly tmpBytes?: number;
  /** Processes and threads of one command; default 512. */
  readonly processes?: number;
  readonly openFiles?: number;
  /** Processors that a command may use, where this process may create control groups; default: all. */
  readonly processors?: number;
  /** Time between SIGTERM and SIGKILL; default 5,000 ms. */
  readonly graceMs?: number;
  readonly environment?: Readonly<Record<string, string>>;
  readonly users?: UserRange;
}

/**
 * Opens what runs commands, and runs one to verify that it works.
 *
 * @throws HeddleError VALIDATION_FAILED if the machine does not support the tier, naming what is missing and the remedy
 */
export async function openRunner(tier: 'jail' | 'process', options: RunnerOptions): Promise<CommandRunner> {
  const { clock, log, users = USERS } = options;
  if (process.platform !== 'linux')
    throw tierUnavailable(tier, 'commands run on Linux, where all their processes can be ended');
  const settings = withDefaults({ workers: 1, clock, log, directory: options.directory });
  await requireCommands(tier, settings);
  const stage = await Stage.make(options.directory);
  const groups = ControlGroups.open(clock, stage.directory.slice(stage.directory.lastIndexOf('/') + 1));
  let starter: Starter | null = null;
  const release = async (): Promise<void> => {
    await starter?.close();
    groups?.close();
    await stage.remove();
  };
  try {
    const directory = join(stage.directory, 'commands');
    await mkdir(directory, { mode: 0o755 });
    starter = await Starter.open({
      script: stage.starter,
      node: process.execPath,
      directory: stage.directory,
      clock,
      log,
    });
    const { graceMs = 5_000, processors = null } = options;
    const { limits, diskBytes } = limitsOf(options);
    const environment = { ...settings.environment, ...options.environment };
    const parts = {
      tier,
      limits,
      processors,
      diskBytes,
      diskIntervalMs: 500,
      graceMs,
      environment,
      directory,
      starter,
      groups,
    };
    const runner = new LocalRunner({ ...parts, slots: new Slots(users), clock, log, release });
    await probe(runner, log);
    return runner;
  } catch (error) {
    await release();
    throw error;
  }
}

/** Returns the limits of every command of a runner. */
export function limitsOf(options: RunnerOptions): { limits: CommandLimits; diskBytes: number } {
  const { diskBytes = 1024 * MIB, tmpBytes = 64 * MIB, processes = 512, openFiles = 1_024 } = options;
  return { limits: { fileBytes: diskBytes, tmpBytes, openFiles, processes }, diskBytes };
}

/** @throws HeddleError VALIDATION_FAILED if a command does not do what it should */
async function probe(runner: CommandRunner, log: Logger): Promise<void> {
  let output = '';
  const command = {
    argv: ['cat'],
    environment: {},
    stdin: Buffer.from('works'),
    files: [],
    memoryMb: 64,
    network: false,
  };
  const { signal } = new AbortController();
  const end = await runner
    .run(command, { signal, onOutput: (_stream, chunk) => (output += chunk.toString()) })
    .catch((error: unknown) => messageOf(error));
  if (typeof end !== 'string' && end.exitCode === 0 && output === 'works') return;
  log.debug({ end, output }, 'the probe of a tier for commands failed');
  throw tierUnavailable(
    runner.tier,
    `a first command failed: ${typeof end === 'string' ? end : output.trim() || JSON.stringify(end)}`,
  );
}
