/** Started with few descriptors: uses them up, and says how what needs more of them ends. */
import { openSync } from 'node:fs';

import { runGit } from '../../../src/remote/events/sources/git-command.ts';
import { WorkerProcess } from '../../../src/remote/execution/worker-process.ts';
import { systemClock } from '../../../src/runtime/clock.ts';

const launch = {
  ...{ command: 'true', args: [], environment: {}, directory: '/', user: null },
  ...{ descriptors: [], pipesCloseMs: 100 },
};
const git = { searchPath: '/usr/bin', directory: '/', protocol: 'file', token: null };
// Before they are gone: what this needs itself.
process.stdout.write('begun\n');
try {
  for (;;) openSync('/dev/null', 'r');
} catch {
  // None is left.
}
const worker = new WorkerProcess(launch, systemClock);
const ready = await worker.ready;
const { error } = await worker.ended;
const signal = new AbortController().signal;
const failure = await runGit({ ...git, signal }, ['version'], {
  failure: 'git failed',
  read: () => Promise.resolve(),
}).catch((thrown: unknown) => thrown);
process.stdout.write(`${ready} ${error?.message} / ${String(failure)}\n`);
