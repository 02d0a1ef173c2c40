import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { openTier } from '../../src/execution/open-tier.ts';
import type { ExecutionTier, JobOutcome } from '../../src/execution/port.ts';
import { canLowerPriority } from '../../src/execution/priority.ts';
import type { TaskProgress, Tier } from '../../src/protocol/messages.ts';
import { type Clock, systemClock } from '@heddle/base/clock';
import { type Logger, silentLogger } from '@heddle/base/log';
import { eventually } from '@heddle/test-support/eventually';
import { AttackCode, resultOf, run, type RunChanges, tierOptions, tryTier } from '../support/execution/fixture.ts';
import { childrenOf, isStarter, processesOfTasks } from '@heddle/test-support/executor/execution/traces';

/** Environment variables visible to tasks; bubblewrap adds `PWD`. */
const SEEN: Readonly<Record<string, readonly string[]>> = {
  pooled: ['HEDDLE_TASK_PROCESS', 'LANG', 'PATH', 'TZ'],
  process: ['HEDDLE_TASK_PROCESS', 'LANG', 'PATH', 'TZ'],
  jail: ['LANG', 'PATH', 'TZ'],
};
const isRoot = process.getuid?.() === 0;

for (const name of ['pooled', 'process', 'jail'] as const) {
  const tier = await tryTier(name, { workers: 2 });
  if (typeof tier === 'string') {
    test(`the tier ${name}`, (t) => t.skip(`NOT RUN, the tier ${name} is not available here: ${tier}`));
    continue;
  }
  describe(`the tier ${name}`, { concurrency: 1 }, () => check(tier, name));
}

/** Null if it has ended. */
function niceOf(pid: number): number | null {
  try {
    return getPriority(pid);
  } catch {
    return null;
  }
}

function check(tier: ExecutionTier, name: Tier): void {
  test('a task sees three environment variables, and none of other processes', async () => {
    await using code = await AttackCode.make();
    const seen = resultOf(await run(tier, code.module('files'), 'files.environment')) as Record<string, unknown>;
    const withoutPlace = (names: unknown): unknown => (names as string[]).filter((each) => each !== 'PWD');
    assert.deepEqual(withoutPlace(seen['names']), SEEN[name]);
    if (name === 'jail') assert.deepEqual(withoutPlace(seen['first']), SEEN[name]);
    else if (isRoot) assert.deepEqual([seen['first'], seen['parent']], ['EACCES', 'EACCES']);
  });

  test("a task can neither read the executor's files nor write outside its own", async (t) => {
    if (!isRoot && name !== 'jail') {
      t.skip('NOT RUN: tasks have separate users only as root');
      return;
    }
    await using code = await AttackCode.make();
    const secret = join(code.directory, 'keys.json');
    writeFileSync(secret, '{}', { mode: 0o600 });
    for (const event of ['files.read-outside', 'files.write-outside']) {
      const reached = resultOf(await run(tier, code.module('files'), event, { args: { paths: [secret] } }));
      assert.deepEqual(reached, []);
    }
  });

  test('spare processes have low priority until a task uses them', async (t) => {
    if (name === 'pooled' || !canLowerPriority) {
      t.skip('NOT RUN: only as root, and in single-use tiers, are priorities lowered');
      return;
    }
    await using code = await AttackCode.make();
    const module = code.module('priority');
    const behind = getPriority() + 10;
    const before = new Set(childrenOf(process.pid));
    const isNew = (pid: number): boolean => !before.has(pid) && niceOf(pid) === behind;
    await eventually(() => {
      // Spares of other tests are evicted once these are ready.
      tier.warm(module, 96);
      return childrenOf(process.pid).some(isNew);
    }, 'a process with low priority');
    const found = resultOf(await run(tier, module, 'priority', { memory_mb: 96 })) as Record<string, unknown>;
    assert.deepEqual(found['threads'], [getPriority()]);
    assert.ok(found['session'] === 0 || found['session'] === null, String(found['session']));
  });

  test('code is preloaded in spare processes', async (t) => {
    if (name === 'pooled') {
      t.skip('only single-use tiers preload code');
      return;
    }
    await using code = await AttackCode.make();
    writeFileSync(
      join(code.directory, 'loaded.ts'),
      `import { defineEvent } from '@heddle/kit/event';
       const at = Date.now();
       export default defineEvent({ name: 'loaded', run: () => at as number });`,
    );
    // A task may arrive while its spare is starting, so the pause grows each time.
    for (let pauseMs = 20; ; pauseMs *= 2) {
      const submittedAt = Date.now();
      const loadedAt = resultOf(await run(tier, code.module('loaded'), 'loaded')) as number;
      if (loadedAt < submittedAt) break;
      assert.ok(pauseMs < 30_000, 'no code was preloaded');
      await sleep(pauseMs);
    }
  });

  test('state left by a task is visible to the next one only in a pooled process', async () => {
    await using code = await AttackCode.make();
    assert.equal(resultOf(await run(tier, code.module('state'), 'state.leave')), 'left');
    const found = resultOf(await run(tier, code.module('state'), 'state.find'));
    const left = { global: 'secret', environment: 'secret', file: true };
    assert.deepEqual(found, name === 'pooled' ? left : { global: null, environment: null, file: false });
  });

  test('a canceled task ends immediately with CANCELED', async () => {
    await using code = await AttackCode.make();
    const controller = new AbortController();
    const outcome = await run(tier, code.module('time'), 'time.endless-loop', {
      signal: controller.signal,
      onStart: () => controller.abort(),
    });
    assert.ok(outcome.status === 'error');
    assert.equal(outcome.code, 'CANCELED');
  });

  test('a task canceled before it starts never starts', async () => {
    await using code = await AttackCode.make();
    let started = 0;
    const changes = { signal: AbortSignal.abort(), onStart: () => (started += 1) };
    const outcome = await run(tier, code.module('healthy'), 'healthy', changes);
    assert.deepEqual([outcome.status === 'error' && outcome.code, started], ['CANCELED', 0]);
  });

  test('invalid arguments are reported with their path', async () => {
    await using code = await AttackCode.make();
    const outcome = await run(tier, code.module('schema'), 'schema.positive', { args: { count: -1 } });
    assert.ok(outcome.status === 'error');
    assert.equal(outcome.code, 'INVALID_ARGS');
    assert.deepEqual(outcome.details, ['args.count: must be positive']);
    const accepted = await run(tier, code.module('schema'), 'schema.positive', { args: { count: 2 } });
    assert.deepEqual(resultOf(accepted), { count: 2, checked: true });
  });

  test('progress arrives, and the context belongs to the task', async () => {
    await using code = await AttackCode.make();
    const reported: TaskProgress[] = [];
    const result = resultOf(
      await run(tier, code.module('schema'), 'schema.context', { onProgress: (progress) => reported.push(progress) }),
    );
    assert.deepEqual(result, { correlation_id: 'test', traceparent: null, aborted: false });
    assert.deepEqual(reported, [{ fraction: 0.25, message: 'a quarter' }]);
  });

  test('code describes its events, and invalid descriptions are rejected', async () => {
    await using code = await AttackCode.make();
    const [first] = await tier.describe(code.module('schema'));
    assert.deepEqual(first, {
      name: 'schema.positive',
      timeout_secs: 5,
      memory_mb: 64,
      tier: 'jail',
      idempotent: true,
    });
    for (const module of ['import-throw', 'import-exit', 'lying-name', 'lying-count']) {
      await assert.rejects(tier.describe(code.module(module)), { code: 'EVENT_UNAVAILABLE' }, module);
    }
  });

  test('tasks of several callers run concurrently', async () => {
    await using code = await AttackCode.make();
    const indexes = Array.from({ length: 12 }, (_, index) => index);
    const outcomes = await Promise.all(
      indexes.map((index) => run(tier, code.module('healthy'), 'healthy', { args: { index } })),
    );
    assert.deepEqual(
      outcomes.map(resultOf),
      indexes.map((index) => ({ got: { index } })),
    );
  });

  test('if the starter is killed, its tasks are lost and the next one runs', async () => {
    await using code = await AttackCode.make();
    const { promise: started, resolve: onStart } = Promise.withResolvers<undefined>();
    const running = run(tier, code.module('time'), 'time.endless-loop', {
      ...{ memory_mb: 80, timeout_ms: 60_000, onStart: () => onStart(undefined) },
    });
    await started;
    for (const pid of childrenOf(process.pid)) if (isStarter(pid)) process.kill(pid, 'SIGKILL');
    const outcome = await running;
    assert.equal(outcome.status === 'error' && outcome.code, 'WORKER_LOST');
    assert.deepEqual(resultOf(await run(tier, code.module('healthy'), 'healthy', { args: { a: 1 } })), {
      got: { a: 1 },
    });
  });

  test('closing leaves nothing behind, even while processes are starting', async () => {
    await using code = await AttackCode.make();
    tier.warm(code.module('healthy'), 64);
    const running = run(tier, code.module('time'), 'time.endless-loop');
    await tier.close();
    assert.equal((await running).status, 'error');
    const after = await run(tier, code.module('healthy'), 'healthy');
    assert.equal(after.status === 'error' && after.code, 'INTERNAL');
  });
}

test('a pooled process is replaced after its maximum number of jobs', async (t) => {
  const tier = await tryTier('pooled', { jobsPerProcess: 3 });
  if (typeof tier === 'string') {
    t.skip(`NOT RUN, the tier pooled is not available here: ${tier}`);
    return;
  }
  await using code = await AttackCode.make();
  const source = `import { defineEvent } from '@heddle/kit/event'; export default defineEvent({ name: 'pid', run: () => process.pid });`;
  writeFileSync(join(code.directory, 'pid.ts'), source);
  const pids: unknown[] = [];
  const changes = { memory_mb: 256 };
  for (let job = 0; job < 7; job += 1) pids.push(resultOf(await run(tier, code.module('pid'), 'pid', changes)));
  await tier.close();
  // The probe task was the first job of the first process.
  const [first, second, third] = [...new Set(pids)];
  assert.deepEqual(pids, [first, first, second, second, second, third, third]);
});

test('a pooled process serves one client with one memory size, and ends if a task leaves something behind', async (t) => {
  const tier = await tryTier('pooled', { workers: 3 });
  if (typeof tier === 'string') {
    t.skip(`NOT RUN, the tier pooled is not available here: ${tier}`);
    return;
  }
  t.after(() => tier.close());
  await using code = await AttackCode.make();
  const module = code.module('leftovers');
  const pidOf = async (event: string, changes: RunChanges): Promise<number> =>
    resultOf(await run(tier, module, event, changes)) as number;
  const [a, b] = [{ client: 'a' }, { client: 'b' }];
  const first = await pidOf('leftovers.none', a);
  const other = await pidOf('leftovers.none', b);
  assert.notEqual(other, first);
  assert.deepEqual([await pidOf('leftovers.none', a), await pidOf('leftovers.none', b)], [first, other]);
  for (const event of ['leftovers.timer', 'leftovers.server']) {
    const leaver = await pidOf(event, a);
    const next = await pidOf('leftovers.none', a);
    assert.notEqual(next, leaver, event);
    await eventually(() => niceOf(leaver) === null, `the process of ${event} to end`);
  }
  const filled = (memory_mb: number): Promise<JobOutcome> =>
    run(tier, module, 'leftovers.memory', { ...a, memory_mb, args: { mebibytes: 100 } });
  assert.equal((await filled(48)).status, 'error');
  assert.equal(resultOf(await filled(192)), 100 * 1024 * 1024);
});

test('log lines of an event arrive, whatever they contain', async () => {
  await using code = await AttackCode.make();
  const lines: unknown[] = [];
  const log = {
    ...silentLogger,
    info: (fields: { fields: unknown }, text: string) => lines.push([fields.fields, text]),
  };
  const tier = await openTier('process', tierOptions({ log: log as unknown as Logger }));
  resultOf(await run(tier, code.module('output'), 'output.odd-characters'));
  await tier.close();
  assert.deepEqual(lines, [
    [{ text: 'a\0b' }, 'a nul: \ufffd'],
    [{ text: '\ud800' }, 'a half: \ufffd'],
    [{ number: 2 ** 60 }, 'a number'],
  ]);
});

test('no task process runs after all tiers are closed', async () => {
  await eventually(() => processesOfTasks().length === 0, 'no task process');
});

describe('code that loads too slowly', () => {
  test('is not preloaded again', async () => {
    await using code = await AttackCode.make();
    const warned: string[] = [];
    // Without bubblewrap a tier also warns that tasks share their temporary directories.
    const warn = (_fields: object, message: string): void => {
      if (message.includes('loads too slowly')) warned.push(message);
    };
    const log = { ...silentLogger, warn };
    // Uses a short time limit for preloading.
    const clock: Clock = { ...systemClock, after: (ms, run) => systemClock.after(ms === 30_000 ? 300 : ms, run) };
    const tier = await openTier('process', tierOptions({ clock, log: log }));
    tier.warm(code.module('import-loop'), 64);
    await eventually(() => warned.length === 1 && processesOfTasks().length === 0, 'the endless module to end');
    await eventually(() => {
      tier.warm(code.module('import-loop'), 64);
      return processesOfTasks().length === 1;
    }, 'a spare process anyway');
    const outcome = await run(tier, code.module('import-loop'), 'import.loop', { memory_mb: 64, timeout_ms: 500 });
    assert.equal(outcome.status === 'error' && outcome.code, 'TASK_TIMEOUT');
    assert.equal(warned.length, 1);
    await tier.close();
  });

  test('cannot be described', async () => {
    await using code = await AttackCode.make();
    const tier = await openTier('process', tierOptions({ describeMs: 300 }));
    await assert.rejects(tier.describe(code.module('import-loop')), /longer than 0.3 s to load/);
    await tier.close();
  });
});

describe('an unavailable tier', () => {
  test('is an error that names what is missing and what to install', async () => {
    const environment = { PATH: '/nowhere' };
    await assert.rejects(
      openTier('jail', tierOptions({ environment })),
      /The tier jail is not available on this machine: .*prlimit.*util-linux/,
    );
    await assert.rejects(
      openTier('container', tierOptions({ container: { command: '/nowhere/docker' } })),
      /The tier container is not available on this machine: .*start the engine and pull the image/,
    );
  });

  test('is an error that names a directory too deep for sockets', async (t) => {
    const directory = await mkdtemp(join(tmpdir(), `heddle-${'deep'.repeat(25)}-`));
    t.after(() => rm(directory, { recursive: true }));
    await assert.rejects(
      openTier('process', tierOptions({ directory })),
      /The tier process is not available on this machine: .*too long for a Unix socket; set TMPDIR to a shorter one/,
    );
  });

  test('is never replaced by a weaker one: a jail that fails to start is an error', async (t) => {
    const tools = await AttackCode.make();
    await using _ = tools;
    const path = readFileSync('/proc/self/environ', 'utf8').includes('PATH=') ? '/usr/sbin:/usr/bin:/sbin:/bin' : '';
    if (process.platform !== 'linux') {
      t.skip('NOT RUN: the jail needs Linux');
      return;
    }
    writeFileSync(join(tools.directory, 'bwrap'), '#!/bin/sh\necho no namespaces for you >&2\nexit 1\n', {
      mode: 0o755,
    });
    const { chmodSync } = await import('node:fs');
    chmodSync(tools.directory, 0o755);
    const environment = { PATH: `${tools.directory}:${path}` };
    await assert.rejects(openTier('jail', tierOptions({ environment })), /The tier jail is not available/);
    assert.deepEqual(processesOfTasks(), []);
  });
});
