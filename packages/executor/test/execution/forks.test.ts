/** Tests processes of the jail that are forked instead of started: nothing of one may be in another. */
import assert from 'node:assert/strict';
import { readdirSync, readlinkSync } from 'node:fs';
import { test, type TestContext } from 'node:test';

import { systemClock } from '@heddle/base/clock';
import { type Logger, silentLogger } from '@heddle/base/log';
import type { ExecutionTier } from '../../src/execution/port.ts';
import type { TaskProgress } from '../../src/protocol/messages.ts';
import type { StartedProcess } from '../../src/execution/starter/starter.ts';
import type { Zygote } from '../../src/execution/zygote/zygote.ts';
import { Zygotes } from '../../src/execution/zygote/zygotes.ts';
import { eventually } from '@heddle/test-support/eventually';
import { AttackCode, resultOf, run, tryTier } from '../support/execution/fixture.ts';

/** The first process of its kind is started, and the next ones are forked. */
const TASKS = 5;

interface Look {
  readonly isForked: boolean;
  readonly random: number;
  readonly uuid: string;
  readonly pid: number;
  readonly found: readonly string[];
  readonly descriptors: readonly string[];
  readonly sharedMemory: readonly string[];
  readonly status: readonly string[];
}

async function openJail(t: TestContext, forks = true): Promise<ExecutionTier | null> {
  const tier = await tryTier('jail', { forks });
  if (typeof tier !== 'string') return tier;
  t.skip(`NOT RUN, the jail is not available here: ${tier}`);
  return null;
}

async function looks(tier: ExecutionTier, code: AttackCode): Promise<Look[]> {
  const found: Look[] = [];
  for (let count = 0; count < TASKS; count += 1) {
    found.push(resultOf(await run(tier, code.module('forked'), 'forked.look')) as Look);
  }
  return found;
}

function distinct(values: readonly unknown[]): void {
  assert.equal(new Set(values).size, values.length, String(values));
}

test('forked processes have nothing in common', async (t) => {
  const tier = await openJail(t);
  if (tier === null) return;
  await using code = await AttackCode.make();
  const all = await looks(tier, code);
  await tier.close();
  const forked = all.filter(({ isForked }) => isForked);
  assert.ok(forked.length >= 2, `${forked.length} of ${TASKS} were forked`);
  distinct(forked.map(({ random }) => random));
  distinct(forked.map(({ uuid }) => uuid));
  distinct(forked.flatMap(({ descriptors }) => [...new Set(descriptors)]));
  for (const look of forked) {
    assert.deepEqual([look.pid, look.found, look.sharedMemory], [1, [], []]);
  }
  const [started] = all.filter(({ isForked }) => !isForked);
  for (const { status } of forked) assert.deepEqual(status, started!.status, 'the same privileges as a started one');
});

test('forked processes that run at the same time have namespaces of their own', async (t) => {
  const tier = await openJail(t);
  if (tier === null) return;
  await using code = await AttackCode.make();
  await looks(tier, code);
  const reported: string[] = [];
  const onProgress = ({ message }: TaskProgress): void => void reported.push(message ?? '');
  const held = Array.from({ length: 3 }, () =>
    run(tier, code.module('forked'), 'forked.hold', { timeout_ms: 300_000, onProgress }),
  );
  await eventually(() => reported.length === held.length, 'a report of each process');
  await tier.close();
  await Promise.all(held);
  const forked = reported.filter((report) => report.startsWith('true ')).map((report) => report.split(' ').slice(1));
  assert.ok(forked.length >= 2, reported.join('; '));
  const own = readdirSync('/proc/self/ns').map((name) => readlinkSync(`/proc/self/ns/${name}`));
  for (const namespaces of forked) {
    assert.equal(namespaces.length, 7, 'cgroup, IPC, mount, network, PID, user and UTS');
    assert.ok(!namespaces.some((link) => own.includes(link)));
  }
  distinct(forked.flat());
});

test('without forks, each process is started', async (t) => {
  const tier = await openJail(t, false);
  if (tier === null) return;
  await using code = await AttackCode.make();
  const all = await looks(tier, code);
  await tier.close();
  assert.ok(all.every(({ isForked }) => !isForked));
});

test('a forked process refuses worker threads, and ends when its handler of exceptions throws', async (t) => {
  const tier = await openJail(t);
  if (tier === null) return;
  await using code = await AttackCode.make();
  await looks(tier, code);
  const threads = await run(tier, code.module('forked'), 'forked.worker');
  const thrown = await run(tier, code.module('forked'), 'forked.throwing-handler', { timeout_ms: 120_000 });
  await tier.close();
  assert.ok(threads.status === 'error' && threads.code === 'EXECUTION_FAILED');
  assert.match(threads.message, /HEDDLE_EXECUTOR_FORK=0/);
  assert.equal(thrown.status === 'error' && thrown.code, 'WORKER_LOST');
});

test('a zygote that another kind replaced while it started is no reason to stop forking', async () => {
  const lines: string[] = [];
  const log: Logger = { ...silentLogger, warn: (_fields: object, message?: string) => void lines.push(message!) };
  const zygotes = new Zygotes(1, 60_000, systemClock, log);
  const starting = new Map<string, PromiseWithResolvers<Zygote>>();
  const forkOf = (kind: string) => zygotes.fork(kind, () => mapped(starting, kind).promise, null);
  for (const kind of ['a', 'b']) assert.equal(await forkOf(kind), null, 'the first process needs no zygote');
  const a = forkOf('a');
  const b = forkOf('b');
  const process = {} as StartedProcess;
  for (const kind of ['a', 'b']) starting.get(kind)!.resolve(zygoteOf(process));
  assert.equal(await a, null);
  assert.equal(await b, process);
  assert.equal(await forkOf('b'), process);
  assert.deepEqual(lines, []);
  await zygotes.close();
});

function mapped(starting: Map<string, PromiseWithResolvers<Zygote>>, kind: string): PromiseWithResolvers<Zygote> {
  const entry = Promise.withResolvers<Zygote>();
  starting.set(kind, entry);
  return entry;
}

/** A zygote that refuses to fork once it is retired, as real ones do. */
function zygoteOf(forked: StartedProcess): Zygote {
  let isRetired = false;
  const zygote = {
    ready: Promise.resolve(undefined),
    get isRetired() {
      return isRetired;
    },
    fork: () => (isRetired ? Promise.reject(new Error('the zygote has ended')) : Promise.resolve(forked)),
    retire: () => {
      isRetired = true;
      return Promise.resolve();
    },
  };
  return zygote as unknown as Zygote;
}

test('a machine that cannot fork is reported once, and starts processes instead', async () => {
  const lines: string[] = [];
  const log: Logger = { ...silentLogger, warn: (_fields: object, message?: string) => void lines.push(message!) };
  const zygotes = new Zygotes(2, 60_000, systemClock, log);
  let starts = 0;
  const start = (): Promise<Zygote> => {
    starts += 1;
    return Promise.reject(new Error('mount: EPERM'));
  };
  for (let count = 0; count < 4; count += 1) assert.equal(await zygotes.fork('kind', start, null), null);
  await zygotes.close();
  assert.equal(starts, 1, 'the first process needs no zygote, and after a failure there is none');
  assert.deepEqual(lines, ['this machine cannot fork task processes; starting each one by itself, which is slower']);
});
