import type { Clock } from '@heddle/base/clock';
import { engineCommand } from '../engine-command.ts';
import type { ContainerOptions } from '../options.ts';

const TIME_MAX_MS = 30_000;
const TEXT_MAX = 100_000;

/** Runs the engine's command and returns what it wrote; never rejects. */
export async function engineOutput(
  container: Required<ContainerOptions>,
  args: readonly string[],
  clock: Clock,
): Promise<{ ok: boolean; text: string }> {
  const child = engineCommand(container, args);
  let text = '';
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => (text = (text + chunk).slice(-TEXT_MAX)));
  }
  const cancel = clock.after(TIME_MAX_MS, () => child.kill('SIGKILL'));
  const ended = await new Promise<number | string | null>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', resolve);
  });
  cancel();
  return { ok: ended === 0, text: typeof ended === 'string' ? ended : text };
}
