import { mkdir, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';

import { removalArguments } from '../container-removal.ts';
import { removeTree } from '../directory-tree.ts';
import { engineOutput } from '../engine-command.ts';
import { withDefaults, type ContainerOptions } from '../options.ts';
import { tierUnavailable } from '../probe.ts';
import { Slots, USERS } from '../slots.ts';
import { clearStale, isAlive, ownPrefix, pidNamespace } from '../stage.ts';
import { ContainerRunner } from './container-runner.ts';
import { limitsOf, type RunnerOptions } from './open-runner.ts';
import type { CommandRunner } from './port.ts';

const PREFIX = 'heddle-command';

/**
 * Opens what runs commands in containers, and removes containers of workers that were killed.
 *
 * @throws HeddleError VALIDATION_FAILED if the engine does not answer, with what it says
 */
export async function openContainerRunner(
  options: RunnerOptions & { container: ContainerOptions },
): Promise<CommandRunner> {
  const { clock, log, users = USERS, graceMs = 5_000 } = options;
  const { container } = withDefaults({
    workers: 1,
    clock,
    log,
    directory: options.directory,
    container: options.container,
  });
  const own = `${PREFIX}-${pidNamespace()}-`;
  const listed = await engineOutput(
    container,
    ['ps', '--all', '--filter', `name=${own}`, '--format', '{{.Names}}'],
    clock,
  );
  if (!listed.ok) {
    throw tierUnavailable(
      'container',
      `${container.command} does not answer: ${listed.text.trim() || 'it was killed'}`,
    );
  }
  const stale = listed.text.split('\n').filter((name) => {
    const pid = name.startsWith(own) ? /^\d+/.exec(name.slice(own.length))?.[0] : undefined;
    return pid !== undefined && !isAlive(Number(pid));
  });
  if (stale.length > 0) await engineOutput(container, removalArguments(container, stale), clock);
  await clearStale(options.directory, PREFIX);
  const directory = await mkdtemp(join(options.directory, ownPrefix(PREFIX)));
  await mkdir(join(directory, 'commands'), { mode: 0o711 });
  const release = (): Promise<void> => removeTree(directory);
  const prefix = `${ownPrefix(PREFIX)}${clock.now().toString(36)}-`;
  const { limits, diskBytes } = limitsOf(options);
  const parts = {
    container,
    prefix,
    limits,
    diskBytes,
    diskIntervalMs: 500,
    graceMs,
    slots: new Slots(users),
    clock,
    log,
  };
  return new ContainerRunner({ ...parts, directory: join(directory, 'commands'), release });
}
