import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { eventFailure } from '../../src/cli/output/event-failure.ts';
import type { JsonObject } from '@heddle/base/json';
import type { Listener } from '@heddle/executor/listener';
import { RemoteFailure, type RemoteCode } from '@heddle/executor/protocol/codes';
import { systemClock } from '@heddle/base/clock';
import { listen } from '@heddle/test-support/executor/client/listening-executor';
import { CREDENTIALS, MemoryExecutor } from '@heddle/test-support/executor/client/memory-executor';
import { eventually } from '@heddle/test-support/eventually';
import { heddle, type Ran, type RunOptions } from '../support/cli/run-command.ts';

const NOWHERE = 'tcp+plain://127.0.0.1:1';

let directory: string;
let clientFile: string;
let url: string;
let listener: Listener;

async function run(event: string, args: JsonObject, signal: AbortSignal): Promise<JsonObject> {
  // fixed wait: how long the event itself takes
  if (event === 'Wait') await systemClock.sleep(60_000, signal);
  // fixed wait: how long the event itself takes
  if (event === 'Slow') await systemClock.sleep(1_500, signal);
  if (event === 'Fail')
    throw new RemoteFailure(args['code'] as RemoteCode, 'it went wrong', { details: ['args.x: no'] });
  return { event, args };
}

const executor = new MemoryExecutor({ clock: systemClock, run });

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'heddle-event-'));
  clientFile = join(directory, 'client.json');
  await writeFile(clientFile, JSON.stringify(CREDENTIALS));
  await chmod(clientFile, 0o600);
  ({ url, listener } = await listen(executor));
});

after(async () => {
  await listener.close(0);
  await rm(directory, { recursive: true });
});

const event = (args: readonly string[], options?: RunOptions): Promise<Ran> =>
  heddle(['event', ...args, '--executor', url, '--client-file', clientFile], options);

test('submit prints the result, with arguments from the command line, a file or standard input', async () => {
  const file = join(directory, 'args.json');
  await writeFile(file, '{"from":"file"}');
  for (const [args, stdin, found] of [
    [[], '', {}],
    [['{"n":1}'], '', { n: 1 }],
    [[`@${file}`], '', { from: 'file' }],
    [['-'], '{"from":"stdin"}', { from: 'stdin' }],
  ] as const) {
    const ran = await event(['submit', 'Echo', ...args], { stdin });
    assert.equal(ran.code, 0, ran.stderr);
    assert.deepEqual(ran.json(), { event: 'Echo', args: found });
  }
});

test('with --json the task and its endpoint are printed, too', async () => {
  const { correlation_id, ...rest } = (await event(['submit', 'Echo', '--json'])).json() as JsonObject;
  assert.match(correlation_id as string, /^[0-9a-f-]{36}$/);
  assert.deepEqual(rest, { status: 'success', endpoint: url, result: { event: 'Echo', args: {} } });
});

test('progress goes to standard error', async () => {
  const ran = await event(['submit', 'Slow']);
  assert.match(ran.stderr, /^50 % half$/m);
});

test('exit codes report what went wrong', async () => {
  const codes: [RemoteCode, number][] = [
    ['EXECUTION_FAILED', 1],
    ['INVALID_ARGS', 2],
    ['EVENT_NOT_REGISTERED', 3],
    ['EVENT_NOT_WHITELISTED', 5],
    ['FORBIDDEN', 5],
  ];
  for (const [code, exit] of codes) {
    const ran = await event(['submit', 'Fail', JSON.stringify({ code })]);
    assert.equal(ran.code, exit, code);
    assert.match(ran.stderr, new RegExp(`error\\[${code}\\]: it went wrong\n {2}args\\.x: no`));
  }
  const told = JSON.parse((await event(['submit', 'Fail', '{"code":"TASK_OOM"}', '--json'])).stderr) as JsonObject;
  assert.deepEqual([told['code'], told['exit_code']], ['TASK_OOM', 1]);
});

test('a submitted task can be polled and canceled', async () => {
  const id = (await event(['submit', 'Wait', '--async'])).lines[0]!;
  assert.match((await event(['poll', id])).stdout, /^running, 50 %: half/);
  assert.match((await event(['cancel', id])).stdout, /canceled/);
  const ran = await event(['poll', id]);
  assert.equal(ran.code, 1);
  assert.match(ran.stderr, /CANCELED/);
  const done = (await event(['submit', 'Echo', '--async', '--idempotency-key', 'k'])).lines[0]!;
  assert.match((await event(['cancel', '--idempotency-key', 'k'])).stdout, /had already succeeded/);
  assert.equal((await event(['poll', done, '--wait', '5', '--ack'])).code, 0);
  assert.equal((await event(['poll', done])).code, 3);
});

test('a deadline, and Ctrl-C, end the wait and cancel the task', async () => {
  const late = await event(['submit', 'Wait', '--deadline', '1', '--idempotency-key', 'late']);
  assert.equal(late.code, 1);
  assert.match(late.stderr, /TASK_TIMEOUT/);
  assert.ok(executor.canceled.has('late'));
  const interrupt = new AbortController();
  const running = event(['submit', 'Wait', '--idempotency-key', 'stopped'], { interrupt: interrupt.signal });
  await eventually(() => executor.runs.has('stopped') || undefined, 'it runs');
  interrupt.abort();
  assert.equal((await running).code, 130);
  assert.ok(executor.canceled.has('stopped'));
});

test('status shows each executor, and fails if none responds', async () => {
  const both = await event(['status', '--executor', NOWHERE]);
  assert.equal(both.code, 0);
  assert.match(both.stdout, /healthy/);
  assert.match(both.stdout, /unreachable.*ECONNREFUSED/);
  const none = await heddle(['event', 'status', '--executor', NOWHERE, '--client-file', clientFile]);
  assert.equal(none.code, 4);
});

test('the reason for waiting is printed once for each reason', async () => {
  const args = ['submit', 'Echo', '--deadline', '1', '--executor', NOWHERE, '--client-file', clientFile];
  const { stderr } = await heddle(['event', ...args]);
  assert.equal(
    stderr.match(/^retrying: tcp\+plain:.*ECONNREFUSED.*; for TLS, remove \+plain from its URL$/gm)?.length,
    1,
  );
  assert.match(stderr, /TASK_TIMEOUT/);
});

test('a missing or untrusted certificate has its own remedy', () => {
  const failure = (message: string) =>
    eventFailure({ code: 'UNREACHABLE', message, details: [], correlation_id: null }).hint ?? '';
  for (const message of [
    'self-signed certificate in certificate chain',
    'error:0A00045C:SSL routines:ssl3_read_bytes:tlsv13 alert certificate required',
  ]) {
    assert.match(failure(message), /^check --ca, --cert and --cert-key/);
  }
  assert.match(failure('connect ECONNREFUSED 127.0.0.1:1'), /^check --executor/);
});

test('invalid input is reported before anything is sent', async () => {
  for (const [args, message] of [
    [['submit', 'Echo', '{'], /not valid JSON/],
    [['submit', 'Echo', '[]'], /not a JSON object/],
    [['cancel'], /name the task by its id/],
    [['submit', 'Echo', '--executor', 'gpu'], /no executor is named gpu/],
  ] as const) {
    const ran = await event([...args]);
    assert.equal(ran.code, 2, ran.stderr);
    assert.match(ran.stderr, message);
  }
  const open = join(directory, 'open.json');
  await writeFile(open, JSON.stringify(CREDENTIALS));
  await chmod(open, 0o644);
  const ran = await heddle(['event', 'list', '--executor', url, '--client-file', open]);
  assert.deepEqual([ran.code, /UNUSABLE/.test(ran.stderr)], [2, true]);
  const nobody = await heddle(['event', 'list', '--client-file', clientFile]);
  assert.match(nobody.stderr, /HEDDLE_EXECUTORS: name an executor/);
});
