/**
 * `node scripts/test-keeper.ts MARK`: outlives a run of the tests, whose end closes its standard input, and ends what a run
 * that was killed has left.
 */
import { once } from 'node:events';

import { endProcesses } from './test-processes.ts';

process.stdin.resume();
await once(process.stdin, 'close');
await endProcesses(process.argv[2]!, 0);
