import { basename } from 'node:path';

import { engineCommand } from './engine-command.ts';
import type { ContainerOptions, TierSettings } from './options.ts';

const SAID_CHARACTERS_MAX = 1_000;

/** Whether the engine is a cluster: its command is `kubectl`, in whatever folder. */
export function isKubernetes({ command }: Required<ContainerOptions>): boolean {
  return basename(command) === 'kubectl';
}

export interface KubectlOptions {
  /** For its standard input. */
  readonly input?: string;
  readonly withinMs: number;
}

/**
 * Runs `kubectl` to its end. The parameters of the settings come first: `--namespace=…`, `--context=…`.
 *
 * @throws Error with what it said, where it did not end with 0
 */
export async function kubectl(
  { container, clock }: TierSettings,
  args: readonly string[],
  { input, withinMs }: KubectlOptions,
): Promise<string> {
  const hasInput = input !== undefined;
  const child = engineCommand(container, [...container.parameters, ...args], hasInput ? 'pipe' : 'ignore');
  let said = '';
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-SAID_CHARACTERS_MAX)));
  }
  // Where it ends before it has read all, its exit code says why.
  child.stdin?.on('error', () => undefined).end(input);
  const end = await new Promise<number | string | null>((resolve) => {
    const cancel = clock.after(withinMs, () => {
      child.kill('SIGKILL');
      resolve(`it did not end within ${withinMs / 1_000} s`);
    });
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code) => {
      cancel();
      resolve(code);
    });
  });
  if (end === 0) return said;
  const why = typeof end === 'string' ? end : said.trim() || `it ended with ${end}`;
  throw new Error(`${container.command} ${args[0] ?? ''}: ${why}`);
}
