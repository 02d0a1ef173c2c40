import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, beforeEach, describe, it } from 'node:test';

import type { Requirements } from '@heddle/base/vocabulary/requirements';
import { LaunchFailure, type LaunchBatch, type ProviderInstance } from '../../../../src/pool/port/provider.ts';
import { ProcessProvider } from '../../../../src/pool/providers/process/provider.ts';
import { becomeRunner, boundLog, isAlive, RunnerRecords } from '../../../../src/pool/providers/process/records.ts';
import { runnersHome } from '../../../../src/pool/providers/process/home.ts';
import { systemClock, type Clock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { newId } from '@heddle/base/random';
import { eventually } from '@heddle/test-support/eventually';

const STAND_IN = join(import.meta.dirname, '../../../support/pool/providers/process/stand-in.ts');
const HOUR_MS = 3_600_000;
const NAME = 'process@test/1';

const LARGE: Requirements = {
  resource_class: 'large',
  usage_class: 'on-demand',
  allowed_instance_types: [],
  cpu: null,
  memory_mib: null,
};

function batchOf(count: number, requirements: Partial<Requirements> = {}): LaunchBatch {
  return {
    id: newId(),
    requirements: { ...LARGE, ...requirements },
    cpu: 2,
    memory_mib: 4_096,
    runner_ids: Array.from({ length: count }, () => newId()),
    planned_at: systemClock.now(),
    tries: 0,
  };
}

/** The system clock with an offset. */
function aheadBy(ms: () => number): Clock {
  return { ...systemClock, now: () => systemClock.now() + ms() };
}

describe('the process provider', () => {
  let directory = '';
  let lateMs = 0;
  let ended: { id: string; reason: string }[] = [];
  const opened: ProcessProvider[] = [];

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'heddle-runners-'));
    lateMs = 0;
    ended = [];
  });

  afterEach(async () => {
    lateMs = 0;
    await Promise.all(opened.splice(0).map((each) => each.close()));
    rmSync(directory, { recursive: true });
  });

  function open(mode = 'plain', program = process.execPath): ProcessProvider {
    const provider = new ProcessProvider({
      name: NAME,
      directory,
      command: [program, STAND_IN, mode],
      environment: { ...process.env, NODE_TEST_CONTEXT: undefined },
      workingDirectory: directory,
      url: 'http://127.0.0.1:9',
      credentialOf: (id) => Promise.resolve(`credential of ${id}`),
      clock: aheadBy(() => lateMs),
      log: silentLogger,
      onEnded: (id, reason) => ended.push({ id, reason }),
    });
    opened.push(provider);
    return provider;
  }

  async function listed(provider: ProcessProvider): Promise<ProviderInstance[]> {
    const all: ProviderInstance[] = [];
    for await (const page of provider.list()) all.push(...page);
    return all;
  }

  const inState = (provider: ProcessProvider, id: string, state: ProviderInstance['state']): Promise<unknown> =>
    eventually(
      async () => (await listed(provider)).some((each) => each.provider_id === id && each.state === state),
      `${id} is ${state}`,
    );

  it('starts a process for each runner, lists it and ends it', async () => {
    const provider = open();
    const batch = batchOf(3);
    const { launched, missing } = await provider.launch(batch);
    assert.equal(missing, null);
    assert.deepEqual(
      launched.map(({ runner_id, instance_type, cpu, memory_mib }) => [runner_id, instance_type, cpu, memory_mib]),
      batch.runner_ids.map((id) => [id, 'local.large', 2, 4_096]),
    );
    for (const { provider_id } of launched) await inState(provider, provider_id, 'running');
    for (const each of await listed(provider)) assert.equal(each.batch_id, batch.id);
    await provider.terminate([launched[0]!.provider_id, newId()]);
    await inState(provider, launched[0]!.provider_id, 'gone');
    await inState(provider, launched[1]!.provider_id, 'running');
    assert.deepEqual(ended, [], 'an end that was asked for is no news');
  });

  it('starts nothing twice, however often and by whichever provider it is asked', async () => {
    const [one, other] = [open(), open()];
    const batch = batchOf(2);
    const answers = await Promise.all([one.launch(batch), other.launch(batch), one.launch(batch)]);
    for (const { launched } of answers) assert.deepEqual(launched, answers[0].launched);
    const [first] = batch.runner_ids;
    for (const id of batch.runner_ids) await inState(one, id, 'running');
    const records = new RunnerRecords(directory);
    const mark = records.processOf(first!);
    await other.launch(batch);
    assert.deepEqual(records.processOf(first!), mark);
    assert.equal(becomeRunner(records.homeOf(first!), process.pid), null, 'another process is this runner');
    // It is not started again after its end, either.
    await one.terminate([first!]);
    await inState(other, first!, 'gone');
    await other.launch(batch);
    await inState(other, first!, 'gone');
  });

  it('starts a runner that an earlier launch only recorded', async () => {
    const provider = open();
    const batch = batchOf(1);
    const [id] = batch.runner_ids;
    const record = { runner_id: id!, batch_id: batch.id, provider: NAME, launched_at: systemClock.now(), server: null };
    new RunnerRecords(directory).create(record);
    assert.deepEqual(
      (await listed(provider)).map(({ state }) => state),
      ['pending'],
    );
    await provider.launch(batch);
    await inState(provider, id!, 'running');
  });

  it('prevents a process that starts after the end of its runner from becoming the runner', () => {
    const records = new RunnerRecords(directory);
    const id = newId();
    const record = { runner_id: id, batch_id: newId(), provider: NAME, launched_at: 0, server: null };
    assert.equal(becomeRunner(records.homeOf(id), process.pid), null, 'there is no record');
    records.create(record);
    records.markEnd(id, { at: 1, reason: 'too late' });
    assert.equal(becomeRunner(records.homeOf(id), process.pid), null);
  });

  it('finds the processes of a server that is gone, and ends them with its own', async () => {
    const first = open();
    const batch = batchOf(1);
    await first.launch(batch);
    const [id] = batch.runner_ids;
    await inState(first, id!, 'running');
    const records = new RunnerRecords(directory);
    const mark = records.processOf(id!)!;
    const later = open();
    await inState(later, id!, 'running');
    await later.close();
    assert.equal(isAlive(mark), false);
  });

  it('reports a killed process, of its own or an earlier server', async () => {
    const provider = open();
    const batch = batchOf(2);
    await provider.launch(batch);
    for (const id of batch.runner_ids) await inState(provider, id, 'running');
    const records = new RunnerRecords(directory);
    process.kill(records.processOf(batch.runner_ids[0]!)!.pid, 'SIGKILL');
    await eventually(() => ended.length === 1, 'the end is reported');
    assert.deepEqual(ended[0], { id: batch.runner_ids[0], reason: 'its process ended (signal SIGKILL)' });
    // A mark whose PID now belongs to another process.
    const id = newId();
    records.create({ runner_id: id, batch_id: newId(), provider: NAME, launched_at: systemClock.now(), server: null });
    writeFileSync(join(records.homeOf(id), 'process.json'), JSON.stringify({ pid: process.pid, start: 'another' }));
    provider.watch();
    assert.equal(ended.at(-1)?.id, id);
    provider.watch();
    assert.equal(ended.length, 2, 'each is reported once');
  });

  it('reports how its own process ended, also if it is inspected before Node reports it', async () => {
    const provider = open();
    const batch = batchOf(1);
    await provider.launch(batch);
    const [id] = batch.runner_ids;
    await inState(provider, id!, 'running');
    const mark = new RunnerRecords(directory).processOf(id!)!;
    process.kill(mark.pid, 'SIGKILL');
    // No turn of the event loop, which would bring the exit event.
    while (isAlive(mark));
    provider.watch();
    assert.equal(ended.length, 0);
    await eventually(() => ended.length === 1, 'the end is reported');
    assert.deepEqual(ended[0], { id, reason: 'its process ended (signal SIGKILL)' });
  });

  it('reports why a runner failed to start', async () => {
    const provider = open('crash');
    const batch = batchOf(1);
    await provider.launch(batch);
    await eventually(() => ended.length === 1, 'the end is reported');
    assert.equal(ended[0]!.reason, 'its process ended (exit code 7)');
    assert.match(new RunnerRecords(directory).tail(batch.runner_ids[0]!, 400), /no such module/);
    assert.deepEqual(
      (await listed(provider)).map(({ state }) => state),
      ['gone'],
    );
  });

  it('does not start failing processes repeatedly', async () => {
    const provider = open('crash');
    for (let start = 1; start <= 3; start += 1) {
      await provider.launch(batchOf(1));
      await eventually(() => ended.length === start, `the end of start ${start} is reported`);
    }
    await assert.rejects(provider.launch(batchOf(1)), (error) => {
      assert.ok(error instanceof LaunchFailure && error.fault === 'capacity');
      assert.match(error.message, /the last 3 runners failed to start: exit code 7: .*no such module/s);
      return true;
    });
    lateMs = 11_000;
    await provider.launch(batchOf(1));
  });

  it('kills processes that do not stop, and removes old directories', async () => {
    const provider = open('stubborn');
    const batch = batchOf(1);
    const [id] = batch.runner_ids;
    await provider.launch(batch);
    await inState(provider, id!, 'running');
    await provider.terminate([id!]);
    assert.deepEqual(
      (await listed(provider)).map(({ state }) => state),
      ['stopping'],
    );
    lateMs = 10_000;
    provider.watch();
    await inState(provider, id!, 'gone');
    provider.watch();
    assert.equal((await listed(provider)).length, 1);
    lateMs = 2 * HOUR_MS;
    provider.watch();
    assert.deepEqual(await listed(provider), []);
  });

  it('refuses requirements that a local process does not meet', async () => {
    const provider = open();
    const refused = (requirements: Partial<Requirements>, pattern: RegExp): Promise<void> =>
      assert.rejects(
        provider.launch(batchOf(1, requirements)),
        (error) => error instanceof LaunchFailure && error.fault === 'refused' && pattern.test(error.message),
      );
    await refused({ allowed_instance_types: ['m7i.*'] }, /its type local\.large is not allowed/);
    await refused({ cpu: 3 }, /it has 2 processors/);
    assert.deepEqual(await listed(provider), []);
    await provider.launch(batchOf(1, { allowed_instance_types: ['local.*'], usage_class: 'spot' }));
  });

  it('ignores runners that another name of its directory launched', async () => {
    const id = newId();
    const record = { runner_id: id, batch_id: newId(), provider: 'process@test/2', launched_at: 0, server: null };
    new RunnerRecords(directory).create(record);
    assert.deepEqual(await listed(open()), []);
  });

  it('reports that nothing can be started, and that the state is unknown, if its directory cannot be read', async () => {
    const provider = open('plain', '/no/such/program');
    const batch = batchOf(1);
    await provider.launch(batch).catch((error: unknown) => {
      assert.ok(error instanceof LaunchFailure && error.fault === 'capacity', String(error));
    });
    await eventually(async () => (await listed(provider)).every(({ state }) => state === 'gone'), 'nothing runs');
    rmSync(directory, { recursive: true });
    assert.deepEqual(await listed(provider), [], 'before the first launch there is none');
    writeFileSync(directory, 'a file');
    await assert.rejects(listed(provider), /ENOTDIR/);
    await assert.rejects(
      provider.launch(batchOf(1)),
      (error) =>
        error instanceof LaunchFailure &&
        error.fault === 'capacity' &&
        /could not start the process/.test(error.message),
    );
    rmSync(directory);
    mkdirSync(directory);
  });

  it('limits the output of a runner', () => {
    const path = join(directory, 'output.log');
    writeFileSync(path, 'x'.repeat(1_000));
    boundLog(path, 1_000);
    assert.equal(new RunnerRecords(directory).ids().length, 0);
    writeFileSync(path, 'y'.repeat(1_001));
    boundLog(path, 1_000);
    boundLog(`${path}.1`, 1_000);
    boundLog(join(directory, 'nothing.log'), 1_000);
  });
});

describe('the directory of runners', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'heddle-home-'));
  after(() => rmSync(dataDir, { recursive: true }));

  it('has a unique name per machine and data directory', () => {
    const names = [
      runnersHome(dataDir, 'one').name,
      runnersHome(dataDir, 'two').name,
      runnersHome(join(dataDir, 'other'), 'one').name,
    ];
    assert.equal(new Set(names).size, 3);
    assert.equal(runnersHome(dataDir, 'one').name, names[0]);
    assert.match(runnersHome(dataDir, '../odd name').directory, /runners\/\.\.-odd-name$/);
  });
});
