/** Tests the starter process: what it passes on and reports, and what happens when it ends. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { text } from 'node:stream/consumers';

import { Stage } from '../../src/execution/stage.ts';
import { type Launch, type StartedProcess, Starter } from '../../src/execution/starter/starter.ts';
import { WorkerProcess } from '../../src/execution/worker-process.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { eventually } from '@heddle/test-support/eventually';
import { childrenOf } from '@heddle/test-support/executor/execution/traces';

async function opened(t: TestContext): Promise<{ starter: Starter; stage: Stage }> {
  const stage = await Stage.make(tmpdir());
  const starter = await Starter.open({
    ...{ script: stage.starter, node: process.execPath, directory: stage.directory },
    ...{ clock: systemClock, log: silentLogger },
  });
  t.after(async () => {
    await starter.close();
    await stage.remove();
  });
  return { starter, stage };
}

function shell(script: string, changes: Partial<Launch> = {}): Launch {
  const environment = { PATH: '/usr/bin:/bin', GREETING: 'hello' };
  const place = { directory: '/', user: null, streams: 4, files: [], behind: false };
  return { command: 'sh', args: ['-c', script], environment, ...place, ...changes };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('a process has its four streams, files, environment and directory', async (t) => {
  const { starter, stage } = await opened(t);
  const script = 'read line; echo "$GREETING $line $PWD"; echo wrong >&2; head -c 12 <&4 >&3; exit 7';
  const { streams, exited } = await starter.start(shell(script, { files: [stage.starter], directory: '/usr' }));
  const [input, output, error, answers] = streams as [(typeof streams)[0], ...typeof streams];
  input.write('you\n');
  assert.deepEqual(await Promise.all([output!, error!, answers!].map((stream) => text(stream))), [
    'hello you /usr\n',
    'wrong\n',
    '"use strict"',
  ]);
  assert.deepEqual(await exited, { exitCode: 7, signal: null });
});

test('a failed start is an error with the reason, and the next start succeeds', async (t) => {
  const { starter } = await opened(t);
  await assert.rejects(starter.start(shell('', { command: '/nowhere/at-all' })), /ENOENT/);
  await assert.rejects(starter.start(shell('', { files: ['/nowhere'] })), /ENOENT.*\/nowhere/);
  assert.deepEqual(await (await starter.start(shell('exit 3'))).exited, { exitCode: 3, signal: null });
});

test('a process is killed with its group, as are its leftovers when it exits', async (t) => {
  const { starter } = await opened(t);
  const child = async ({ streams }: StartedProcess): Promise<number> => {
    const [chunk] = (await once(streams[1]!, 'data')) as [Buffer];
    return Number(chunk.toString());
  };
  const killed = await starter.start(shell('sleep 1000 & echo $!; wait'));
  const [left, leaving] = [await child(killed), await starter.start(shell('sleep 1000 & echo $!; read line'))];
  killed.kill();
  assert.deepEqual(await killed.exited, { exitCode: null, signal: 'SIGKILL' });
  await eventually(() => !isAlive(left), 'the group to end');
  const other = await child(leaving);
  leaving.streams[0]!.end();
  await leaving.exited;
  await eventually(() => !isAlive(other), 'the leftovers to end');
  // The process is already gone; neither call is an error.
  killed.kill();
  leaving.kill();
});

test('if the starter is killed, its processes are reported as ended, and the next start creates a new one', async (t) => {
  const { starter } = await opened(t);
  const before = new Set(childrenOf(process.pid));
  const first = await starter.start(shell('sleep 1000'));
  const [itself] = childrenOf(process.pid).filter((pid) => !before.has(pid));
  process.kill(itself!, 'SIGKILL');
  const refused = assert.rejects(starter.start(shell('exit 0')), /the starter process ended: exited with SIGKILL/);
  assert.deepEqual(await first.exited, { exitCode: null, signal: 'SIGKILL' });
  await eventually(() => !isAlive(first.pid), 'the process to end');
  await refused;
  assert.deepEqual(await (await starter.start(shell('exit 4'))).exited, { exitCode: 4, signal: null });
});

test('signals that stop an executor do not end the starter, so that tasks can finish', async (t) => {
  const { starter } = await opened(t);
  const before = new Set(childrenOf(process.pid));
  const { exited, streams } = await starter.start(shell('read line; exit 5'));
  const [itself] = childrenOf(process.pid).filter((pid) => !before.has(pid));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(itself!, signal);
  assert.deepEqual(await (await starter.start(shell('exit 6'))).exited, { exitCode: 6, signal: null });
  streams[0]!.write('go\n');
  assert.deepEqual(await exited, { exitCode: 5, signal: null });
});

test('concurrent starts get separate streams', async (t) => {
  const { starter } = await opened(t);
  const numbers = Array.from({ length: 40 }, (_, index) => index);
  const said = await Promise.all(
    numbers.map(async (number) => {
      const { streams } = await starter.start(shell(`echo ${number}; echo answer ${number} >&3`));
      return await Promise.all([text(streams[1]!), text(streams[3]!)]);
    }),
  );
  assert.deepEqual(
    said,
    numbers.map((number) => [`${number}\n`, `answer ${number}\n`]),
  );
});

test('a process that exits immediately is no error, and all its output is read', async (t) => {
  const { starter } = await opened(t);
  // fixed wait: blocks every turn, so that exits and streams arrive together
  const hold = setInterval(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 15), 1);
  t.after(() => clearInterval(hold));
  const script = 'head -c 100000 /dev/zero | tr "\\0" x; printf end >&2; printf "\\0\\0\\0\\001Y" >&3; exit 3';
  for (let round = 0; round < 20; round += 1) {
    // Nothing may hold the pipes any longer.
    const worker = new WorkerProcess(await starter.start(shell(script)), 0, systemClock);
    assert.deepEqual(await worker.ended, { exitCode: 3, signal: null });
    assert.equal(await worker.ready, true);
    assert.deepEqual([worker.stdout.bytes, worker.stderr.text], [100_000, 'end']);
  }
});

test('an unexpected connection is closed', async (t) => {
  const { starter, stage } = await opened(t);
  await (
    await starter.start(shell('exit 0'))
  ).exited;
  const stranger = connect(join(stage.directory, 'streams', 's'));
  stranger.write(`${'0'.repeat(32)}0`);
  stranger.resume();
  await once(stranger, 'close');
});

test('a directory path too long for a socket is rejected with the remedy', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), `heddle-${'deep'.repeat(25)}-`));
  t.after(() => rm(directory, { recursive: true }));
  const options = { script: '', node: process.execPath, directory, clock: systemClock, log: silentLogger };
  await assert.rejects(Starter.open(options), /is too long for a Unix socket; set TMPDIR to a shorter one/);
});
