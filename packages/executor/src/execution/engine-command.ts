import { type ChildProcess, spawn } from 'node:child_process';

import type { ContainerOptions } from './options.ts';

/** Runs the engine's command for purposes other than a task. */
export function engineCommand(
  container: Required<ContainerOptions>,
  args: readonly string[],
  input: 'ignore' | 'pipe' = 'ignore',
): ChildProcess {
  return spawn(container.command, args, { env: container.environment, stdio: [input, 'pipe', 'pipe'] });
}
