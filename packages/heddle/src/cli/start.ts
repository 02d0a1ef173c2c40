import { runProgram } from '@heddle/base/terminal/run-program';
import { NODE_MIN } from '../app/package.ts';

/** Runs any command of this process's command line. */
export async function start(): Promise<void> {
  await runProgram(NODE_MIN, async () => (await import('./program.ts')).createProgram());
}
