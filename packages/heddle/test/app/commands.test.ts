/** Tasks of the kind `Command`, from the API to the end of their processes, on a real server. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { HeddleApiError, HeddleClient, type Task } from '@heddle/client';
import { messageOf } from '@heddle/base/thrown';
import { ENGINE, importImage } from '@heddle/test-support/container-image';
import { eventually } from '@heddle/test-support/eventually';
import { startHeddle, type Heddle } from '@heddle/test-support/cli/heddle';
import { Capture, heddle } from '../support/cli/run-command.ts';

const HAS_JAIL = spawnSync('bwrap', ['--version']).status === 0;
const TIERS = HAS_JAIL ? 'jail,process' : 'process';

interface Ended {
  task: Task;
  result: unknown;
  log: string[];
}

describe('a task that runs a command', { concurrency: false }, () => {
  let server: Heddle;
  let client: HeddleClient;

  before(async () => {
    server = await startHeddle({ flags: { HEDDLE_COMMANDS: TIERS, HEDDLE_COMMAND_DISK_MB: '32' } });
    client = new HeddleClient({ baseUrl: server.url });
  });

  after(() => server.stop());

  async function submit(input: Record<string, unknown>, extra: Record<string, unknown> = {}): Promise<string> {
    const { tasks } = await client.submit([{ name: 'command', kind: 'Command', metadata: input, ...extra }]);
    return tasks[0]!.id;
  }

  async function ended(id: string): Promise<Ended> {
    const task = await eventually(async () => {
      const now = await client.getTask(id);
      return now.ended_at === null ? undefined : now;
    }, `task ${id} has ended`);
    const log = (await client.taskLogs(id)).lines.map(({ stream, text }) => `${stream}: ${text}`);
    return { task: task, result: (await client.taskResult(id))?.data, log };
  }

  const run = async (input: Record<string, unknown>): Promise<Ended> => ended(await submit(input));

  test('has its output as its log, and what it wrote for it as its result', async () => {
    const { task, result, log } = await run({
      run: 'echo "$GREETING"; cat; cat data/list.txt >&2; echo \'{"lines": 2}\' > "$HEDDLE_RESULT"',
      env: { GREETING: 'hello' },
      stdin: 'from stdin\n',
      files: { 'data/list.txt': 'a\nb\n' },
    });
    assert.equal(task.status, 'Success');
    assert.deepEqual(result, { lines: 2 });
    assert.deepEqual(
      log.filter((line) => line.startsWith('stdout')),
      ['stdout: hello', 'stdout: from stdin'],
    );
    assert.deepEqual(
      log.filter((line) => line.startsWith('stderr')),
      ['stderr: a', 'stderr: b'],
    );
  });

  test('has a result of the form that it names', async () => {
    assert.deepEqual((await run({ argv: ['printf', 'a\\nb\\n'], result: 'text' })).result, 'a\nb');
    assert.deepEqual((await run({ argv: ['echo', '{"a":[1]}'], result: 'json' })).result, { a: [1] });
    assert.deepEqual((await run({ run: 'echo 1; echo; echo \'{"b":2}\'', result: 'jsonl' })).result, [1, { b: 2 }]);
    assert.deepEqual((await run({ argv: ['true'] })).result, { exit_code: 0 });
    const { task } = await run({ argv: ['echo', '{'], result: 'json' });
    assert.match(task.failure_reason!, /^its output is not JSON: /);
  });

  test('fails with its exit code and its last words, unless the code is a success', async () => {
    const { task } = await run({ run: 'echo working; echo "no such host" >&2; exit 7' });
    assert.deepEqual([task.status, task.failure_reason], ['Failure', 'it exited with 7: no such host']);
    assert.equal((await run({ run: 'exit 7', success_exit_codes: [0, 7] })).task.status, 'Success');
    const piped = await run({ run: 'false | cat; echo not reached' });
    assert.equal(piped.task.status, 'Failure');
    assert.match((await run({ run: 'kill -SEGV $$' })).task.failure_reason!, /SIGSEGV|exited with 139/);
  });

  test('ends after its own timeout', async () => {
    const { task } = await run({ run: 'echo working; sleep 600', timeout_secs: 1 });
    assert.deepEqual([task.status, task.failure_reason], ['Failure', 'it ran for longer than its timeout_secs, 1']);
  });

  test('reports progress', async () => {
    const { task, log } = await run({ run: 'for i in 10 40 100; do echo "::progress $i/100::"; done; echo done' });
    assert.equal(task.success, 100);
    assert.deepEqual(log, ['stdout: done']);
  });

  test('ends with all its processes when it is canceled, and frees its place then', async () => {
    const marker = `sleep-${Date.now()}`;
    const id = await submit({
      run: `(exec -a ${marker} sleep 1000) & trap "echo cleaning" TERM; echo started; wait; wait`,
    });
    await eventually(
      async () => (await client.taskLogs(id)).lines.some(({ text }) => text === 'started'),
      'it started',
    );
    await client.cancelTask(id);
    await eventually(() => spawnSync('pgrep', ['-f', `^${marker}`]).status === 1, 'no process of it is left');
    await eventually(
      async () => (await client.taskLogs(id)).lines.some(({ text }) => text === 'cleaning'),
      'it could clean up',
    );
  });

  test('times out like any task', async () => {
    const { task } = await ended(await submit({ argv: ['sleep', '1000'] }, { timeout: 1 }));
    assert.match(task.failure_reason!, /timeout/);
  });

  test('that does not fit this worker is refused for good, and says why', async () => {
    for (const [input, reason] of [
      [{ argv: ['true'], image: 'debian' }, /^isolation: container is not enabled; HEDDLE_COMMANDS has /],
      [{ argv: ['true'], isolation: 'container' }, /input\.image: is required by the isolation `container`/],
      [{ argv: ['true'], image: '--privileged' }, /input\.image: must be the name of an image/],
      [{ argv: ['true'], network: true }, /^network: .*HEDDLE_COMMAND_NETWORK=1/],
      [{ argv: ['true'], memory_mb: 100_000 }, /^memory_mb: 100000 is more than HEDDLE_COMMAND_MEMORY_MB, 2048/],
      [{ argv: ['true'], run: 'x' }, /argv: is required, unless `run`/],
      [{ argv: [] }, /argv: must begin with the program/],
      [{ argv: ['x'], shell: 'bash' }, /shell: requires `run`/],
      [{ argv: ['x'], env: { 'A=B': 'x' } }, /is not a name of an environment variable/],
      [{ argv: ['x'], files: { '../x': '' } }, /is outside the working directory/],
      [{ argv: ['x'], result: 'xml' }, /result: /],
      [{ argv: ['x'], timeout: 3 }, /timeout/],
    ] as const) {
      const { task } = await ended(await submit(input, { retry: { max_attempts: 3 } }));
      assert.match(task.failure_reason!, reason);
      assert.equal(task.attempt, 1);
    }
  });

  test('is followed on the terminal', async () => {
    const id = await submit({ run: 'echo one; echo two >&2; sleep 0.5; echo three' });
    const followed = await heddle(['task', 'logs', id, '--follow', '--url', server.url]);
    assert.equal(followed.code, 0);
    assert.deepEqual([followed.stdout, followed.stderr], ['one\nthree\n', 'two\n']);
    const tail = await heddle(['task', 'logs', id, '--tail', '1', '--json', '--url', server.url]);
    assert.equal((tail.json() as { text: string }).text, 'three');
  });
});

test('heddle run shows the output of a command and exits with its code', async () => {
  const server = await startHeddle({ flags: { HEDDLE_COMMANDS: TIERS } });
  const on = (...args: string[]): ReturnType<typeof heddle> => heddle(['run', '--url', server.url, ...args]);
  try {
    const ran = await on('--env', 'WHO=you', '--', 'bash', '-c', 'echo hello $WHO; echo oops >&2; exit 42');
    assert.deepEqual([ran.code, ran.stdout], [42, 'hello you\n']);
    assert.match(ran.stderr, /^oops\nFailure task [0-9a-f-]{36}: it exited with 42: oops\n$/);
    const quiet = await on('--file', `list=${import.meta.filename}`, '--', 'head', '-c', '8', 'list');
    assert.deepEqual([quiet.code, quiet.stdout, quiet.stderr], [0, '/** Task\n', '']);
    const own = await on('seq', '-s', ' ', '1', '3');
    assert.deepEqual([own.code, own.stdout], [0, '1 2 3\n'], 'options of the program are its own');
    const long = await on('--json', 'seq', '1', '5000');
    const lines = long.stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { text: string }).text);
    assert.deepEqual([long.code, lines.length, lines.at(-1)], [0, 5_000, '5000']);
    const large = await on('true', 'x'.repeat(70_000));
    assert.match(
      large.stderr,
      /--file, --stdin, --env and the command line have \d+ bytes as JSON; a task may have 65536/,
    );
    const detached = await on('--detach', '--', 'true');
    assert.match(detached.stdout, /^[0-9a-f-]{36}\n$/);
    const client = new HeddleClient({ baseUrl: server.url });
    await eventually(async () => (await client.getTask(detached.stdout.trim())).status === 'Success', 'it ran');
    const [attempt] = await client.taskAttempts(detached.stdout.trim());
    assert.equal(attempt!.exit_code, 0);
    assert.match((await on('--env', 'X', '--', 'true')).stderr, /--env must be NAME=VALUE/);
    assert.match((await on('--file', '/no/such', '--', 'true')).stderr, /--file: .*no\/such/);
    assert.equal((await on()).code, 2);
  } finally {
    await server.stop();
  }
});

test('heddle run says what a command waits for, and cancels it on Ctrl-C', async () => {
  const server = await startHeddle({ flags: { HEDDLE_COMMANDS: 'off' } });
  try {
    const interrupt = new AbortController();
    const stderr = new Capture();
    const waiting = heddle(['run', '--url', server.url, '--', 'true'], { interrupt: interrupt.signal, stderr });
    await stderr.until(/hint: HEDDLE_COMMANDS of a server or worker enables commands/);
    interrupt.abort();
    assert.equal((await waiting).code, 130);
    const [, id] = /canceled task ([0-9a-f-]{36})/.exec(stderr.text)!;
    assert.equal((await new HeddleClient({ baseUrl: server.url }).getTask(id!)).status, 'Canceled');
  } finally {
    await server.stop();
  }
});

test('only the programs that are named may run', async () => {
  const server = await startHeddle({ flags: { HEDDLE_COMMANDS: 'process', HEDDLE_COMMAND_PROGRAMS: 'echo' } });
  try {
    const client = new HeddleClient({ baseUrl: server.url });
    const reasonOf = async (metadata: Record<string, unknown>): Promise<string | null> => {
      const { tasks } = await client.submit([{ name: 'c', kind: 'Command', metadata }]);
      const task = await eventually(async () => {
        const now = await client.getTask(tasks[0]!.id);
        return now.ended_at === null ? undefined : now;
      }, 'it has ended');
      return task.failure_reason;
    };
    assert.equal(await reasonOf({ argv: ['echo', 'x'] }), null);
    assert.match((await reasonOf({ argv: ['cat'] }))!, /"cat" is not among HEDDLE_COMMAND_PROGRAMS/);
    assert.match((await reasonOf({ run: 'echo x' }))!, /"bash" is not among/);
  } finally {
    await server.stop();
  }
});

test('a container runs an image that is allowed, with files, secrets and artifacts like any command', async (t) => {
  const image = await importImage().catch((error: unknown) => {
    t.skip(messageOf(error));
    return null;
  });
  if (image === null) return;
  const flags = {
    HEDDLE_COMMANDS: 'container',
    HEDDLE_COMMAND_ENGINE: ENGINE.command,
    HEDDLE_COMMAND_PARAMETERS: ENGINE.parameters.join(','),
    HEDDLE_COMMAND_IMAGES: 'localhost/heddle-test-*',
  };
  const server = await startHeddle({ flags });
  try {
    const client = new HeddleClient({ baseUrl: server.url });
    const options = ['--image', image, '--env', 'WHO=you', '--artifact', '*.txt', '--url', server.url];
    const out = await mkdtemp(join(tmpdir(), 'heddle-container-'));
    const line = 'echo "hello $WHO"; ls -d /proc/[0-9]* | wc -l; echo made > made.txt; exit 3';
    const ran = await heddle(['run', ...options, '--out', out, '--', 'bash', '-c', line]);
    assert.equal(ran.code, 3, ran.stderr);
    assert.equal(ran.lines[0], 'hello you');
    assert.ok(Number(ran.lines[1]) <= 3, 'it sees its own processes only');
    assert.equal(await readFile(join(out, 'made.txt'), 'utf8'), 'made\n');
    await rm(out, { recursive: true });

    const reasonOf = async (input: Record<string, unknown>): Promise<string | null> => {
      const { tasks } = await client.submit([{ name: 'c', kind: 'Command', metadata: input }]);
      return eventually(async () => {
        const { ended_at, failure_reason: reason } = await client.getTask(tasks[0]!.id);
        return ended_at === null ? undefined : (reason ?? '');
      }, 'it has ended');
    };
    assert.match(
      (await reasonOf({ argv: ['true'], image: 'debian:12' }))!,
      /"debian:12" is not among HEDDLE_COMMAND_IMAGES/,
    );
    assert.match((await reasonOf({ argv: ['true'] }))!, /^image: is required: HEDDLE_COMMANDS has container/);
    const missing = await reasonOf({ argv: ['true'], image: 'localhost/heddle-test-none' });
    assert.match(missing!, /^no container of localhost\/heddle-test-none could be started: /);
    const env = { A: 'two\nlines' };
    assert.match(
      (await reasonOf({ argv: ['true'], image, env }))!,
      /env\.A: a container takes no value with a line break/,
    );
  } finally {
    await server.stop();
  }
});

test('a token needs the scope command, whatever the way in', async () => {
  const scopes = ['submit', 'operate', 'work'] as const;
  const server = await startHeddle({ scopes, flags: { HEDDLE_REQUIRE_TOKENS: '1' } });
  try {
    const client = new HeddleClient({ baseUrl: server.url, token: server.token! });
    const input = { argv: ['true'] };
    const isForbidden = (error: unknown): boolean => error instanceof HeddleApiError && error.code === 'FORBIDDEN';
    await assert.rejects(client.submit([{ name: 'c', kind: 'Command', metadata: input }]), isForbidden);
    const root = { mode: 'sequential' as const, children: [{ name: 'c', kind: 'Command', input }] };
    await assert.rejects(client.submitWorkflow({ root }), isForbidden);
    const job = { name: 'j', cron: '0 0 * * *', workflow: { root } };
    await assert.rejects(client.jobs.create(job), isForbidden);
    const { tasks } = await client.submit([{ name: 'g', kind: 'test.generator' }]);
    const [work] = await client.work.claim({ kinds: ['test.generator'] });
    assert.equal(work!.id, tasks[0]!.id);
    const nodes = [{ name: 'c', kind: 'Command', input }];
    await assert.rejects(client.work.createChildren(work!, { nodes }), isForbidden);
  } finally {
    await server.stop();
  }
});
