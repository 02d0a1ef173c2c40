/** Files of tasks: stored by commands, kinds and pull workers, used by later tasks, downloaded, pinned and swept. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';

import { ATTEMPT_OUTCOME_CODE } from '@heddle/base/vocabulary/attempt';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { newId } from '@heddle/base/random';
import { HeddleClient, type Artifact, type Task } from '@heddle/client';
import type { WorkDto } from '@heddle/client';
import { eventually } from '@heddle/test-support/eventually';
import { startHeddle, type Heddle } from '@heddle/test-support/cli/heddle';
import { artifactsOf } from '../../src/app/artifacts/open.ts';
import { loadConfiguration } from '../../src/app/config.ts';
import { heddle, type Ran } from '../support/cli/run-command.ts';

const TIER = spawnSync('bwrap', ['--version']).status === 0 ? 'jail' : 'process';
const HOUR_MS = 3_600_000;
const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');

describe('artifacts', { concurrency: false }, () => {
  let directory: string;
  let stored: string;
  let server: Heddle;
  let client: HeddleClient;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'heddle-artifacts-'));
    stored = join(directory, 'stored');
    const flags = {
      HEDDLE_COMMANDS: TIER,
      HEDDLE_REQUIRE_TOKENS: '1',
      HEDDLE_ARTIFACTS_DIR: stored,
      HEDDLE_ARTIFACT_MB: '1',
      HEDDLE_ARTIFACTS_PER_TASK: '5',
      HEDDLE_MODULES: join(import.meta.dirname, '../support/app/artifact-kinds.ts'),
    };
    server = await startHeddle({ flags, scopes: ['admin'] });
    client = new HeddleClient({ baseUrl: server.url, token: server.token! });
  });

  after(async () => {
    await server.stop();
    await rm(directory, { recursive: true });
  });

  const cli = (...args: string[]): Promise<Ran> => heddle([...args, '--url', server.url, '--token', server.token!]);

  async function run(kind: string, metadata: Record<string, unknown>): Promise<Task> {
    const { tasks } = await client.submit([{ name: 'artifacts', kind, metadata }]);
    return ended(tasks[0]!.id);
  }

  function ended(id: string): Promise<Task> {
    return eventually(async () => {
      const now = await client.getTask(id);
      return now.ended_at === null ? undefined : now;
    }, `task ${id} has ended`);
  }

  const contentOf = async ({ id }: Artifact): Promise<Buffer> => buffer(await client.artifacts.download(id));
  const namesOf = async (id: string): Promise<string[]> => (await client.artifacts.list(id)).map(({ name }) => name);
  const linesOf = async (id: string): Promise<string[]> => (await client.taskLogs(id)).lines.map(({ text }) => text);

  test('of a command are what its globs match, also if it fails', async () => {
    const task = await run('Command', {
      run: 'mkdir -p out/deep; echo one > out/one.txt; echo two > out/deep/two.xml; echo no > other; exit 4',
      artifacts: ['out/*.txt', '**/*.xml'],
    });
    assert.equal(task.status, 'Failure');
    const artifacts = await client.artifacts.list(task.id);
    assert.deepEqual(
      artifacts.map(({ name, size, sha256: hash, attempt, pinned }) => [name, size, hash, attempt, pinned]),
      [
        ['out/deep/two.xml', 4, sha256('two\n'), 1, false],
        ['out/one.txt', 4, sha256('one\n'), 1, false],
      ],
    );
    assert.equal((await contentOf(artifacts[1]!)).toString(), 'one\n');
  });

  test('that lead out of the working directory, or are no files, are left out and named in the log', async () => {
    const task = await run('Command', {
      run: `mkdir out; ln -s /etc/passwd out/link; ln -s /etc out/folder; mkfifo out/pipe; echo a > out/file
        ln out/file out/hard; echo ok > out/ok; touch "$(printf 'out/line\\nbreak')"; touch 'out/back\\slash'`,
      artifacts: ['out'],
    });
    assert.equal(task.status, 'Success', task.failure_reason ?? '');
    assert.deepEqual(await namesOf(task.id), ['out/ok']);
    const lines = (await linesOf(task.id)).join('\n');
    for (const left of [
      'link" is a symbolic link',
      'folder" is a symbolic link',
      'pipe" is not a file',
      'hard" is not a file',
      'break" must not contain',
      'slash" must not contain',
    ]) {
      assert.ok(lines.includes(left), `${left} in\n${lines}`);
    }
  });

  test('beyond the limits of size and number fail the task, which says so', async () => {
    const large = await run('Command', { run: 'head -c 2000000 /dev/zero > large', artifacts: ['large'] });
    assert.match(large.failure_reason!, /^the artifact large could not be stored: An artifact may have 1048576 bytes/);
    assert.deepEqual(await namesOf(large.id), []);
    const many = await run('Command', { run: 'touch 1 2 3 4 5 6 7', artifacts: ['*'] });
    assert.match(many.failure_reason!, /could not be stored: .*/);
    assert.equal((await namesOf(many.id)).length, 5);
    assert.deepEqual(await readdir(join(stored, 'unfinished')), []);
    const glob = await run('Command', { argv: ['true'], artifacts: ['**/**/**/x'] });
    assert.match(glob.failure_reason!, /input\.artifacts\[0\]: may have \*\* at most 2 times/);
  });

  test('are files of later commands, and readable by kinds, by the name of their task or their id', async () => {
    const { id } = await client.submitWorkflow({
      name: 'pipeline',
      root: {
        mode: 'sequential',
        children: [
          { kind: 'Filing', local_id: 'make', input: { store: 'hello' } },
          {
            kind: 'Command',
            local_id: 'change',
            input: {
              run: 'tr a-z A-Z < in.txt > out.txt',
              files: { 'in.txt': { artifact: 'make/notes/text.txt' } },
              artifacts: ['out.txt'],
            },
          },
          { kind: 'Filing', local_id: 'read', input: { read: 'change/out.txt' } },
        ],
      },
    });
    const tree = await eventually(async () => {
      const now = await client.getWorkflow(id);
      return now.ended_at === null ? undefined : now;
    }, 'the workflow has ended');
    const [make, , read] = tree.root.children as { id: string; status: string }[];
    assert.deepEqual((await client.taskResult(read!.id))!.data, { stored: null, read: 'HELLO' });
    const [artifact] = await client.artifacts.list(make!.id);
    assert.deepEqual((await client.taskResult(make!.id))!.data, {
      stored: { id: artifact!.id, name: 'notes/text.txt', size: 5, sha256: sha256('hello') },
      read: null,
    });
    const byId = await run('Filing', { read: artifact!.id });
    assert.equal(((await client.taskResult(byId.id))!.data as { read: string }).read, 'hello');
    const missing = await run('Command', { argv: ['true'], files: { a: { artifact: 'make/none' } } });
    assert.match(missing.failure_reason!, /No such artifact: make\/none/);
  });

  async function claim(): Promise<WorkDto> {
    await client.submit([{ name: 'pulled', kind: 'Pulled' }]);
    const [task] = await client.work.claim({ kinds: ['Pulled'], wait_secs: 20 });
    return task!;
  }

  const streamOf = (data: Buffer | string): ReadableStream<Uint8Array> =>
    new Blob([new Uint8Array(Buffer.from(data))]).stream();

  test('are stored and opened by pull workers; the same content is stored once', async () => {
    const task = await claim();
    const data = randomBytes(300_000);
    const first = await client.work.putArtifact(task, 'a.bin', streamOf(data));
    assert.deepEqual([first.size, first.sha256], [data.length, sha256(data)]);
    await client.work.putArtifact(task, 'b.bin', streamOf(data));
    const replaced = await client.work.putArtifact(task, 'a.bin', streamOf('new'));
    assert.deepEqual([replaced.id, replaced.sha256], [first.id, sha256('new')]);
    const opened = await client.work.openArtifact(task, `${task.id}/b.bin`);
    assert.ok((await buffer(opened.content)).equals(data));
    const hex = sha256(data);
    assert.deepEqual(
      (await readdir(join(stored, hex.slice(0, 2)))).filter((name) => name === hex),
      [hex],
    );
    await client.work.complete(task);
    await assert.rejects(client.work.putArtifact(task, 'late', streamOf('x')), { code: 'STALE_ATTEMPT' });
  });

  test('are refused with a reason: names that lead elsewhere, other attempts, other workers, other types', async () => {
    const task = await claim();
    for (const name of ['../up', '/etc/passwd', 'a/../../b', 'a//b', './a', 'C:\\x', 'c:/x', 'a\nb', '']) {
      await assert.rejects(client.work.putArtifact(task, name, streamOf('x')), { status: 400 }, name);
    }
    const put = (query: string, headers: Record<string, string>): Promise<Response> =>
      fetch(`${server.url}/v1/work/${task.id}/artifacts?${query}`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${server.token!}`, ...headers },
        body: 'x',
      });
    const octets = { 'content-type': 'application/octet-stream' };
    assert.equal((await put('name=a&attempt=7', octets)).status, 409);
    assert.equal((await put('name=a&attempt=1&holder=somebody', octets)).status, 409);
    for (const type of ['text/plain', 'application/json']) {
      const refused = await put('name=a&attempt=1', { 'content-type': type });
      assert.equal(refused.status, 415, type);
      assert.match(await refused.text(), /content-type: must be application\/octet-stream; set the header/);
    }
    await assert.rejects(client.artifacts.list(task.id, { attempt: 7 }), { status: 404 });
    assert.equal((await put('name=a&attempt=1', { ...octets, authorization: '' })).status, 401);
    const tooLarge = await client.work
      .putArtifact(task, 'a', streamOf(Buffer.alloc(3_000_000)))
      .catch((error: unknown) => error);
    assert.ok(tooLarge instanceof Error);
    const elsewhere = await fetch(`${server.url}/task`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.token!}`, ...octets },
      body: '[]',
    });
    assert.equal(elsewhere.status, 415, 'other routes take JSON only');
    assert.deepEqual(await namesOf(task.id), []);
    await client.work.complete(task);
  });

  test('are downloaded without a token by a signed URL, as files, until it expires', async () => {
    const { id } = await run('Filing', { store: '<script>alert(1)</script>' });
    const [artifact] = await client.artifacts.list(id);
    const { url } = await client.artifacts.url(artifact!.id, 60);
    const response = await fetch(url);
    assert.equal(await response.text(), '<script>alert(1)</script>');
    assert.equal(response.headers.get('content-type'), 'application/octet-stream');
    assert.match(response.headers.get('content-disposition')!, /^attachment; /);
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
    assert.equal(response.headers.get('etag'), `"${sha256('<script>alert(1)</script>')}"`);
    const changed = new URL(url);
    changed.searchParams.set('expires', String(Number(changed.searchParams.get('expires')) + 1));
    assert.equal((await fetch(changed)).status, 403);
    const other = await run('Filing', { store: 'other' });
    const [foreign] = await client.artifacts.list(other.id);
    assert.equal((await fetch(url.replace(artifact!.id, foreign!.id))).status, 403);
    assert.equal((await fetch(url.split('?')[0]!)).status, 401);
  });

  test('are listed, downloaded, pinned and shared by the command line, which never leaves its directory', async () => {
    const { id } = await run('Filing', { store: 'from the cli' });
    const listed = await cli('artifact', 'list', id);
    assert.match(listed.lines[1]!, / 1 +notes\/text\.txt +12 +- +[0-9a-f]{12}$/);
    const out = join(directory, 'out');
    const got = await cli('artifact', 'get', id, '--out', out);
    assert.equal(got.code, 0, got.stderr);
    assert.equal(await readFile(join(out, 'notes/text.txt'), 'utf8'), 'from the cli');
    const again = await cli('artifact', 'get', id, '--out', out);
    assert.equal(again.code, 2);
    assert.match(again.stderr, /already exists; nothing was overwritten/);
    await mkdir(join(directory, 'trap'));
    await symlink(directory, join(directory, 'trap/notes'));
    const trapped = await cli('artifact', 'get', id, '--out', join(directory, 'trap'));
    assert.match(trapped.stderr, /leads out of/);
    const [artifact] = await client.artifacts.list(id);
    const single = await cli('artifact', 'get', artifact!.id, '--output', join(directory, 'single'));
    assert.equal(single.code, 0, single.stderr);
    assert.equal(await readFile(join(directory, 'single'), 'utf8'), 'from the cli');
    assert.equal((await cli('artifact', 'pin', artifact!.id)).stdout, 'notes/text.txt is pinned\n');
    assert.equal((await client.artifacts.get(artifact!.id)).pinned, true);
    assert.equal((await cli('artifact', 'unpin', artifact!.id)).code, 0);
    const shared = await cli('artifact', 'url', artifact!.id, '--expires', '30');
    assert.equal(await (await fetch(shared.stdout.trim())).text(), 'from the cli');
    assert.equal((await cli('artifact', 'get', '00000000-0000-7000-8000-000000000000')).code, 3);
  });

  test('of `heddle run` are downloaded at its end', async () => {
    const out = join(directory, 'run');
    const access = ['--url', server.url, '--token', server.token!];
    const options = ['--artifact', '*.txt', '--out', out, ...access];
    const ran = await heddle(['run', ...options, '--', 'sh', '-c', 'echo made > made.txt']);
    assert.equal(ran.code, 0, ran.stderr);
    assert.equal(await readFile(join(out, 'made.txt'), 'utf8'), 'made\n');
  });

  test('that nothing uses are swept: of lost attempts, of deleted tasks unless pinned, of crashed uploads', async () => {
    const query = (text: string): Promise<object[]> => server.database.query({ name: `test.${text.length}`, text });
    const pinned = await run('Filing', { store: 'pinned' });
    const deleted = await run('Filing', { store: 'deleted' });
    const [kept] = await client.artifacts.list(pinned.id);
    await client.artifacts.pin(kept!.id);
    const lost = await claim();
    await client.work.putArtifact(lost, 'lost', streamOf('lost'));
    await query(`insert into heddle.task_attempt (task_id, attempt, ended_at, outcome)
      values ('${lost.id}', 1, now(), ${ATTEMPT_OUTCOME_CODE.lost})`);
    // A process that ended between storing the content and its commit, and one that ended while it received.
    const orphan = sha256('orphan');
    await mkdir(join(stored, orphan.slice(0, 2)), { recursive: true });
    await writeFile(join(stored, orphan.slice(0, 2), orphan), 'orphan');
    const unfinished = join(stored, 'unfinished', newId());
    await writeFile(unfinished, 'half');
    const old = new Date(systemClock.now() - 48 * HOUR_MS);
    await utimes(join(stored, orphan.slice(0, 2), orphan), old, old);
    await utimes(unfinished, old, old);

    await query(`delete from heddle.artifact where task_id = '${deleted.id}'`);
    await query(`update heddle.artifact_blob set stored_at = now() - interval '2 hours'`);
    const flags = { HEDDLE_ARTIFACTS_DIR: stored };
    const { values } = loadConfiguration({ flags, environment: {}, workingDirectory: directory });
    await artifactsOf(values, { database: server.database, clock: systemClock, log: silentLogger }).retain(1_000);

    const exists = async (content: string): Promise<boolean> => {
      const hex = sha256(content);
      return (await readdir(join(stored, hex.slice(0, 2))).catch((): string[] => [])).includes(hex);
    };
    assert.deepEqual(
      [await exists('pinned'), await exists('deleted'), await exists('orphan'), await exists('lost')],
      [true, false, false, false],
    );
    assert.deepEqual(await readdir(join(stored, 'unfinished')), []);
    assert.equal((await contentOf(kept!)).toString(), 'pinned');
    await client.work.complete(lost);
  });
});
