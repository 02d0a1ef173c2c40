import { tmpdir } from 'node:os';

import { systemClock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { detailedMessageOf } from '@heddle/base/thrown';
import { openTier } from '@heddle/executor/execution/open-tier';
import type { ExecutionTier } from '@heddle/executor/execution/port';
import { TIERS, type Tier } from '@heddle/executor/protocol/messages';
import { CommandFailure } from '@heddle/base/terminal/failure';
import type { SettingValues } from '../settings.ts';
import type { StopSequence } from '../stop-sequence.ts';
import { configuredTier, taskUserFaults } from './executor-settings-check.ts';
import { userRangeOf } from './executor-users.ts';

export interface ExecutorTiers {
  /** The tier of tasks whose event does not ask for a stronger one. */
  readonly own: ExecutionTier;
  readonly all: readonly ExecutionTier[];
}

/**
 * Opens the tier of the settings, and the jail beside a weaker tier if the machine supports it: events may ask for it.
 * @throws CommandFailure if the machine does not support the configured tier, naming what is missing
 */
export async function openTiers(settings: SettingValues, log: Logger, stopping: StopSequence): Promise<ExecutorTiers> {
  const tier = configuredTier(settings);
  for (const fault of taskUserFaults(settings)) log.warn({ tier }, fault);
  const own = await openOne(tier, settings, log, stopping).catch((error: unknown) => {
    throw new CommandFailure(`HEDDLE_EXECUTOR_TIER: ${detailedMessageOf(error)}`, { cause: error });
  });
  if (!isWeakerThanJail(tier)) return { own, all: [own] };
  log.warn({ tier }, `tasks run in the tier ${tier}, which is not a sandbox: every event's code must be trusted`);
  try {
    return { own, all: [own, await openOne('jail', settings, log, stopping)] };
  } catch (error) {
    log.info(
      { reason: detailedMessageOf(error) },
      'this machine supports no jail: events that require one are rejected',
    );
    return { own, all: [own] };
  }
}

function isWeakerThanJail(tier: Tier): boolean {
  return TIERS.indexOf(tier) < TIERS.indexOf('jail');
}

async function openOne(
  tier: Tier,
  settings: SettingValues,
  log: Logger,
  stopping: StopSequence,
): Promise<ExecutionTier> {
  const opened = await openTier(tier, {
    workers: settings.executorWorkerCount,
    memoryMb: settings.executorMemoryMb,
    tmpBytes: settings.executorTmpMb * 1_048_576,
    // The users of tasks must be able to traverse it, which they cannot in the executor's own directory.
    directory: tmpdir(),
    users: userRangeOf(settings),
    privateTmp: settings.executorPrivateTmp,
    forks: settings.executorFork,
    container: {
      command: settings.executorContainerCommand,
      image: settings.executorContainerImage,
      parameters: settings.executorContainerParameters,
      environment: engineEnvironment(process.env),
    },
    clock: systemClock,
    log,
  });
  stopping.add(`the tier ${tier}`, () => opened.close());
  return opened;
}

/** Variables that the commands of engines use to find their engine, and `kubectl` its cluster. */
const ENGINE_VARIABLES =
  /^(PATH|HOME|TMPDIR|DOCKER_\w+|CONTAINER_\w+|CONTAINERS_\w+|CONTAINERD_\w+|KUBECONFIG|KUBERNETES_SERVICE_\w+|XDG_RUNTIME_DIR|XDG_CONFIG_HOME)$/;

/** Environment of the engine's command: without the executor's keys and tokens. */
export function engineEnvironment(environment: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter((entry): entry is [string, string] => ENGINE_VARIABLES.test(entry[0])),
  );
}
