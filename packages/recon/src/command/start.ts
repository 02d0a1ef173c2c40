import { readManifest } from '@heddle/base/package-manifest';
import type { PackagedProgram } from '@heddle/base/terminal/program';
import { runProgram } from '@heddle/base/terminal/run-program';
import { NODE_MIN } from './package.ts';

/**
 * Runs the command line of this process: `heddle-recon`, or `heddle recon` if `outer` describes that program. In the
 * published package this file is bundled, since to load its modules one by one would take longer than a small probe.
 */
export async function start(outer?: PackagedProgram): Promise<void> {
  const whole = outer === undefined ? undefined : { ...outer, ...readManifest(outer.directory) };
  await runProgram(whole?.nodeMin ?? NODE_MIN, async () => (await import('./program.ts')).createReconProgram(whole));
}
