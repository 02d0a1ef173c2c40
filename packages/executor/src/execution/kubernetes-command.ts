import { basename } from 'node:path';

import { engineCommand } from './engine-command.ts';
import type { ContainerOptions, TierSettings } from './options.ts';

const OUTPUT_CHARACTERS_MAX = 1_000;

/** Returns whether the engine is a cluster: its command is `kubectl`, in any directory. */
export function isKubernetes({ command }: Required<ContainerOptions>): boolean {
  return basename(command) === 'kubectl';
}

export interface KubectlOptions {
  /** Written to its standard input. */
  readonly input?: string;
  readonly withinMs: number;
}

/**
 * Runs `kubectl` to completion. Arguments from the settings come first, such as `--namespace=…` or `--context=…`.
 *
 * @throws Error with its output if the exit code is not 0
 */
export async function kubectl(
  { container, clock }: TierSettings,
  args: readonly string[],
  { input, withinMs }: KubectlOptions,
): Promise<string> {
  const hasInput = input !== undefined;
  const child = engineCommand(container, [...container.parameters, ...args], hasInput ? 'pipe' : 'ignore');
  let output = '';
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-OUTPUT_CHARACTERS_MAX)));
  }
  // If it exits before reading all of its input, its exit code explains why.
  child.stdin?.on('error', () => undefined).end(input);
  const end = await new Promise<number | string | null>((resolve) => {
    const cancel = clock.after(withinMs, () => {
      child.kill('SIGKILL');
      resolve(`it did not finish within ${withinMs / 1_000} s`);
    });
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code) => {
      cancel();
      resolve(code);
    });
  });
  if (end === 0) return output;
  const why = typeof end === 'string' ? end : output.trim() || `exit code ${end}`;
  throw new Error(`${container.command} ${args[0] ?? ''}: ${why}`);
}
