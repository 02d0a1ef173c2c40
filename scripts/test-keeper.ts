/**
 * `node scripts/test-keeper.ts MARK DIRECTORY`: outlives a run of the tests, whose end closes its standard input. If the run
 * was killed, it ends the processes that are left and removes the run's directory.
 */
import { once } from 'node:events';
import { rmSync } from 'node:fs';

import { endProcesses } from './test-processes.ts';

process.stdin.resume();
await once(process.stdin, 'close');
const [mark, directory] = process.argv.slice(2) as [string, string];
await endProcesses(mark, 0);
rmSync(directory, { recursive: true, force: true });
