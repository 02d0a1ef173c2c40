import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';

import { HeddleClient } from '@heddle/client';
import { Output } from '@heddle/base/terminal/output';
import { watchBatch } from '../../src/cli/output/progress.ts';
import { systemClock, VirtualClock } from '@heddle/base/clock';
import { BatchProgress } from '../../src/cli/output/batch-progress.ts';
import { ProgressLines } from '../../src/cli/output/progress-lines.ts';
import type { BasicTask, Batch } from '../../src/cli/output/wire.ts';
import { eventually } from '@heddle/test-support/eventually';
import { startHeddle, type Heddle } from '@heddle/test-support/cli/heddle';
import { Capture, heddle } from '../support/cli/run-command.ts';
import { startTarget, type Target } from '../support/cli/targets.ts';

let server: Heddle;
let target: Target;

before(async () => {
  server = await startHeddle();
  // Ends every task as its path says; `/held` stays running.
  target = await startTarget((path, called) => {
    if (path === '/ok') void called.finish(path);
    if (path === '/bad') void called.finish(path, { status: 'Failure', failure_reason: 'out of paper' });
  });
});

after(async () => {
  await server.stop();
  await target.close();
});

/** A proxy to a port that can be cut. */
async function startLine(port: number) {
  const sockets = new Set<Socket>();
  let streams = 0;
  const door = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    sockets.add(near);
    near.on('data', (chunk: Buffer) => {
      if (chunk.toString('latin1').includes('/events ')) streams += 1;
    });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.pipe(other);
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  }).listen(0, '127.0.0.1');
  await once(door, 'listening');
  const cut = (): void => sockets.forEach((socket) => socket.destroy());
  return {
    url: `http://127.0.0.1:${(door.address() as AddressInfo).port}`,
    /** Requested event streams so far. */
    streams: () => streams,
    cut,
    close: async () => {
      cut();
      door.close();
      await once(door, 'close');
    },
  };
}

function batchOf(...paths: string[]): string {
  return JSON.stringify(
    paths.map((path, index) => ({
      id: `t${index}`,
      name: `task ${index}`,
      kind: 'test.watch',
      on_start: { kind: 'Webhook', params: { url: `${target.url}${path}`, verb: 'Post' } },
      // A chain in which a failure stops nothing.
      dependencies: index === 0 ? [] : [{ id: `t${index - 1}`, requires_success: false }],
    })),
  );
}

const submit = (stdin: string, ...args: string[]) =>
  heddle(['batch', 'submit', '-', '--watch', '--url', server.url, ...args], { stdin });

describe('batch watch', () => {
  test('ends with 0 if every task succeeded, and reports it in plain lines', async () => {
    const ran = await submit(batchOf('/ok', '/ok', '/ok'));
    assert.equal(ran.code, 0, ran.stderr);
    assert.match(ran.lines[0]!, /3 tasks created$/);
    assert.match(ran.lines.at(-2)!, /^\[\d+\.\d s\] 3\/3 ended \(3 Success\)/);
    assert.match(ran.lines.at(-1)!, /^✔ batch [0-9a-f-]{36}: all 3 tasks succeeded in \d+\.\d s$/);
    assert.ok(!ran.stdout.includes('\u001b'));
  });

  test('ends with 1 if one failed, and lists it with its reason', async () => {
    const ran = await submit(batchOf('/ok', '/bad', '/ok'));
    assert.equal(ran.code, 1);
    assert.match(ran.stdout, /✖ batch .*: ended in .* with 2 Success, 1 Failure/);
    assert.match(ran.stdout, /✖ Failure task 1 \([0-9a-f-]{36}\): out of paper/);
  });

  test('--json writes JSON lines and nothing else', async () => {
    const ran = await submit(batchOf('/ok', '/bad'), '--json');
    assert.equal(ran.code, 1);
    assert.equal(ran.stderr, '');
    const events = ran.jsonLines();
    assert.deepEqual([events[0]!['event'], events[0]!['created']], ['submitted', 2]);
    const end = events.at(-1)!;
    assert.deepEqual([end['event'], end['succeeded'], end['by_status']], ['end', false, { Success: 1, Failure: 1 }]);
    const changes = events.slice(1, -1);
    assert.ok(changes.every((event) => event['event'] === 'change' && Array.isArray(event['tasks'])));
  });

  test('Ctrl-C stops following: exit code 130, and the batch continues', async () => {
    const interrupt = new AbortController();
    const { lines } = await heddle(['batch', 'submit', '-', '--url', server.url, '--json'], {
      stdin: batchOf('/held'),
    });
    const { batch_id } = JSON.parse(lines[0]!) as { batch_id: string };
    const watching = heddle(['batch', 'watch', batch_id, '--url', server.url], { interrupt: interrupt.signal });
    interrupt.abort();
    const ran = await watching;
    assert.equal(ran.code, 130);
    assert.match(ran.stdout, /0 of 1 task ended after .*; no longer watching/);
    const { code } = await heddle(['batch', 'cancel', batch_id, '--url', server.url]);
    assert.equal(code, 0);
  });

  test('a lost connection is reported and reopened', async (t) => {
    const { lines } = await heddle(['batch', 'submit', '-', '--url', server.url, '--json'], {
      stdin: batchOf('/held'),
    });
    const { batch_id } = JSON.parse(lines[0]!) as { batch_id: string };
    const line = await startLine(server.system.port);
    t.after(() => line.close());
    const watching = heddle(['batch', 'watch', batch_id, '--url', line.url]);
    await eventually(() => line.streams() === 1, 'the stream is open');
    line.cut();
    await eventually(() => line.streams() === 2, 'the stream is open again');
    await target.finish('/held');
    const ran = await watching;
    assert.equal(ran.code, 0, ran.stderr);
    assert.match(ran.stderr, /^lost the connection to http:\/\/127\.0\.0\.1:\d+; retrying in 1\.0 s\n$/);
    assert.match(ran.stdout, /its task succeeded/);
  });

  test('on a terminal: bars, counts and running tasks; the cursor is restored', async () => {
    const stdout = new Capture(true);
    const output = new Output({ stdout, stderr: new Capture(), json: false, clock: systemClock });
    const client = new HeddleClient({ baseUrl: server.url });
    const { batchId } = await client.submit(JSON.parse(batchOf('/held', '/ok')) as never);
    const stop = new AbortController();
    let print: (line: string) => void = () => undefined;
    const onPrinter = (given: typeof print): void => {
      print = given;
    };
    const watching = watchBatch(client, batchId!, { output, signal: stop.signal, onPrinter });
    await stdout.until(/▶ task 0/);
    print('a line of another program');
    await stdout.until(/a line of another program\r?\n[^]*batch [^]*1 Running[^]*▶ task 0/);
    await target.finish('/held');
    const result = await watching;
    assert.deepEqual([result.ended, result.succeeded, result.by_status], [true, true, { Success: 2 }]);
    assert.match(stdout.text, /█|░/);
    assert.match(stdout.text, /1 Running/);
    assert.ok(stdout.text.lastIndexOf('\u001b[?25h') > stdout.text.lastIndexOf('\u001b[?25l'), 'the cursor is shown');
    assert.ok(stdout.text.lastIndexOf('\u001b[?7h') > stdout.text.lastIndexOf('\u001b[?7l'), 'lines wrap again');
    assert.match(stdout.lines.at(-1)!, /all 2 tasks succeeded/);
  });
});

describe('plain progress', () => {
  const batch: Batch = {
    id: 'b',
    name: null,
    task_count: 10,
    remaining: 10,
    created_at: new Date(1_700_000_000_000).toISOString(),
    ended_at: null,
    archived: false,
  };
  const task = (id: number, status: BasicTask['status']): BasicTask =>
    ({ id: String(id), name: `task ${id}`, status, attempt: 1 }) as BasicTask;

  test('writes at most one line a second, with the last state of each task', async () => {
    const clock = new VirtualClock(1_700_000_000_000);
    const stdout = new Capture();
    const progress = new BatchProgress(batch);
    const lines = new ProgressLines(new Output({ stdout, stderr: stdout, json: false, clock }), progress);
    const all = Array.from({ length: 10 }, (_, id) => task(id, 'Pending'));
    lines.update(progress.apply({ batch, tasks: all }));
    assert.deepEqual(stdout.lines, ['[0.0 s] 0/10 ended (10 Pending)']);
    for (const status of ['Running', 'Success'] as const) {
      await clock.advance(200);
      lines.update(progress.apply({ batch, tasks: all.slice(0, 6).map(({ id }) => task(Number(id), status)) }));
    }
    assert.equal(stdout.lines.length, 1);
    await clock.advance(600);
    assert.equal(
      stdout.lines[1],
      '[1.0 s] 0/10 ended (6 Success, 4 Pending): task 0 Success, task 1 Success, task 2 Success, task 3 Success, 2 more',
    );
    lines.update(progress.apply({ batch: { ...batch, remaining: 9 }, tasks: [] }));
    lines.stop();
    await clock.advance(5000);
    assert.equal(stdout.lines.length, 2, 'nothing new is no line');
    assert.equal(clock.timers, 0);
  });
});
