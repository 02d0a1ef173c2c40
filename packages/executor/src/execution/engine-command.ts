import { type ChildProcess, spawn } from 'node:child_process';
import { tmpdir } from 'node:os';

import type { Clock } from '@heddle/base/clock';
import type { ContainerOptions } from './options.ts';

/** Runs the engine's command for purposes other than a task. */
export function engineCommand(
  container: Required<ContainerOptions>,
  args: readonly string[],
  input: 'ignore' | 'pipe' = 'ignore',
): ChildProcess {
  // Podman's monitor leaves a file named `oom` in its working directory if a container runs out of memory.
  return spawn(container.command, args, {
    cwd: tmpdir(),
    env: container.environment,
    stdio: [input, 'pipe', 'pipe'],
  });
}

const TIME_MAX_MS = 30_000;
const TEXT_MAX = 100_000;

/** Runs the engine's command and returns the end of what it wrote; kills it after a time. Never rejects. */
export async function engineOutput(
  container: Required<ContainerOptions>,
  args: readonly string[],
  clock: Clock,
  withinMs = TIME_MAX_MS,
): Promise<{ ok: boolean; killed: boolean; text: string }> {
  const child = engineCommand(container, args);
  let text = '';
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => (text = (text + chunk).slice(-TEXT_MAX)));
  }
  const cancel = clock.after(withinMs, () => child.kill('SIGKILL'));
  const ended = await new Promise<number | string | null>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', resolve);
  });
  cancel();
  return { ok: ended === 0, killed: ended === null, text: typeof ended === 'string' ? ended : text };
}
