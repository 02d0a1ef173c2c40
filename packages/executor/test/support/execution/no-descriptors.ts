/** Uses up a small number of descriptors, and prints how operations that need more fail. */
import { closeSync, openSync } from 'node:fs';
import { tmpdir } from 'node:os';

import { runGit } from '../../../src/events/sources/git-command.ts';
import { Stage } from '../../../src/execution/stage.ts';
import { Starter } from '../../../src/execution/starter/starter.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';

const stage = await Stage.make(tmpdir());
const starter = await Starter.open({
  ...{ script: stage.starter, node: process.execPath, directory: stage.directory },
  ...{ clock: systemClock, log: silentLogger },
});
const launch = {
  ...{ command: 'true', args: [], environment: { PATH: '/usr/bin:/bin' }, directory: '/', user: null },
  ...{ streams: 4, files: [], behind: false },
};
// The starter process exists by now and must be replaced.
const first = await starter.start(launch);
await Promise.all(first.streams.map((stream) => new Promise((closed) => stream.once('close', closed).resume())));
const git = { searchPath: '/usr/bin', directory: '/', protocol: 'file', token: null };
// Allocated before the descriptors run out.
process.stdout.write('begun\n');
const used: number[] = [];
try {
  for (;;) used.push(openSync('/dev/null', 'r'));
} catch {
  // None is left.
}
const started = await starter.start(launch).catch((thrown: unknown) => thrown);
const signal = new AbortController().signal;
const failure = await runGit({ ...git, signal }, ['version'], {
  failure: 'git failed',
  read: () => Promise.resolve(),
}).catch((thrown: unknown) => thrown);
process.stdout.write(`${String(started)} / ${String(failure)}\n`);
for (const descriptor of used) closeSync(descriptor);
await starter.close();
await stage.remove();
