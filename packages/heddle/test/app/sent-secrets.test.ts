/** Secrets that workers in other languages and webhook targets were sent: what they report is redacted by the server. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { HeddleClient, type Task, type WorkDto } from '@heddle/client';
import { systemClock } from '@heddle/base/clock';
import { newSecretKey } from '@heddle/base/keyring';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { createNamedSecrets } from '@heddle/core/engine/secrets/named-secrets';
import { openQueue } from '@heddle/core/queue/open';
import { TokenStore } from '@heddle/core/store/tokens';
import { HeddleProcess } from '@heddle/test-support/app/heddle-process';
import { startHeddle, type Heddle } from '@heddle/test-support/cli/heddle';
import { eventually } from '@heddle/test-support/eventually';
import { startTarget, type Target } from '../support/dispatch/targets.ts';

const VALUE = 'correct-horse/battery';
const BASE64 = Buffer.from(VALUE).toString('base64');

describe('secrets that were sent', { concurrency: false }, () => {
  let directory: string;
  let server: Heddle;
  let client: HeddleClient;
  let worker: HeddleClient;
  let target: Target;
  let workToken: string;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'heddle-sent-secrets-'));
    const keyFile = join(directory, 'keys');
    await writeFile(keyFile, `${newSecretKey()}\n`);
    const flags = { HEDDLE_SECRET_KEY_FILE: keyFile, HEDDLE_REQUIRE_TOKENS: '1', HEDDLE_QUEUED_KINDS: 'sent.queued' };
    server = await startHeddle({ flags, scopes: ['admin'] });
    client = new HeddleClient({ baseUrl: server.url, token: server.token! });
    const tokens = new TokenStore({ database: server.database, clock: systemClock, random: systemRandom });
    const kinds = ['sent.plain', 'sent.queued'];
    workToken = (await tokens.create('worker', ['work'], null, { kinds, classes: null })).text;
    worker = new HeddleClient({ baseUrl: server.url, token: workToken });
    target = await startTarget((_request, response) => response.writeHead(204).end());
  });

  after(async () => {
    await target.close();
    await server.stop();
    await rm(directory, { recursive: true });
  });

  /** Submits a task that names a secret somewhere in its input, and claims it. */
  async function claimed(secret: string, extra: object = {}): Promise<WorkDto> {
    const input = { servers: [{ name: 'a', login: { password: { secret } } }] };
    await client.submit([{ name: 'sent', kind: 'sent.plain', metadata: input, ...extra }]);
    const [work] = await worker.work.claim({ kinds: ['sent.plain'] });
    return work!;
  }

  async function stored(id: string): Promise<string> {
    const [task, result, logs, attempts] = await Promise.all([
      client.getTask(id),
      client.taskResult(id),
      client.taskLogs(id),
      client.taskAttempts(id),
    ]);
    return JSON.stringify([task, result, logs, attempts]);
  }

  test('are replaced in lines, results and reasons, also where they are encoded', async () => {
    await client.secrets.set('PHRASE', VALUE, ['sent.plain']);
    const work = await claimed('PHRASE', { retry: { max_attempts: 2, backoff_secs: 0 } });
    const { id } = work;
    assert.deepEqual(await worker.work.secrets(work), { PHRASE: VALUE });
    await worker.work.log(work, {
      first_line: 0,
      lines: [{ text: `<${VALUE}>` }, { text: `url ${encodeURIComponent(VALUE)}` }],
    });
    await worker.work.fail(work, `it was ${VALUE}, ${BASE64}`);
    const [again] = await eventually(async () => {
      const tasks = await worker.work.claim({ kinds: ['sent.plain'] });
      return tasks.length > 0 ? tasks : undefined;
    }, 'the second attempt');
    // It kept the value from its first attempt.
    await worker.work.log(again!, { first_line: 0, lines: [{ text: `again ${VALUE}` }] });
    await worker.work.complete(again!, { result: { [VALUE]: [{ deep: `x${VALUE}y` }] } });
    assert.deepEqual((await client.taskResult(id))!.data, { '***': [{ deep: 'x***y' }] });
    const lines = async (attempt: number): Promise<string[]> =>
      (await client.taskLogs(id, { attempt })).lines.map(({ text }) => text);
    assert.deepEqual(await lines(1), ['<***>', 'url ***']);
    assert.deepEqual(await lines(2), ['again ***']);
    assert.equal((await client.taskAttempts(id)).at(-1)!.reason, 'it was ***, ***');
    const everything = await stored(id);
    assert.ok(!everything.includes(VALUE) && !everything.includes(BASE64.slice(0, -4)), everything);
    assert.ok(everything.includes('{"secret":"PHRASE"}'), 'the task shows the name');
  });

  test('are replaced with the value that was sent, after it was changed and after it was deleted', async () => {
    await client.secrets.set('CHANGED', 'the first value', ['sent.plain']);
    const [one, other] = [await claimed('CHANGED'), await claimed('CHANGED')];
    await worker.work.secrets(one);
    await client.secrets.set('CHANGED', 'the second value');
    await worker.work.secrets(other);
    await client.secrets.rotate();
    await worker.work.log(one, { first_line: 0, lines: [{ text: 'the first value' }] });
    await client.secrets.delete('CHANGED');
    await worker.work.log(other, { first_line: 0, lines: [{ text: 'the second value' }] });
    await worker.work.complete(one, { result: 'was the first value' });
    await worker.work.complete(other, { result: 'was the second value' });
    assert.ok(!(await stored(one.id)).includes('first'));
    assert.ok(!(await stored(other.id)).includes('second'));
  });

  test('are replaced in what arrives by a queue', async () => {
    await client.secrets.set('QUEUED', VALUE, ['sent.queued']);
    const parts = { database: server.database, clock: systemClock, random: systemRandom, log: silentLogger };
    const { queue } = await openQueue({ url: 'postgres', ...parts });
    const { id } = await client.submitWorkflow({
      root: { mode: 'sequential', children: [{ kind: 'sent.queued', input: { token: { secret: 'QUEUED' } } }] },
    });
    const [start] = await queue.receive('worker:sent.queued', { max: 1, wait_ms: 20_000, visibility_ms: 60_000 });
    const { task } = JSON.parse(start!.body) as { task: { id: string; attempt: number } };
    assert.deepEqual(await worker.work.secrets(task), { QUEUED: VALUE });
    await worker.work.log(task, { first_line: 0, lines: [{ text: VALUE }] });
    const end = { type: 'CompleteTask', task_id: task.id, state: 'PartiallyFailed', root_container_id: id };
    await queue.send('manager', [{ body: JSON.stringify({ ...end, data: { told: VALUE }, reason: `half ${VALUE}` }) }]);
    await eventually(async () => (await client.getWorkflow(id)).ended_at !== null, 'the end of the workflow');
    assert.deepEqual((await client.taskResult(task.id))!.data, { told: '***' });
    assert.ok(!(await stored(task.id)).includes(VALUE));
  });

  test('are replaced in what the target of a webhook reports with its handle', async () => {
    await client.secrets.set('HEADER', `Bearer ${VALUE}`, [new URL(target.url).origin]);
    const headers = { authorization: { secret: 'HEADER' } };
    const on_start = { kind: 'Webhook', params: { url: `${target.url}/start`, verb: 'Post', headers } };
    const { tasks } = await client.submit([{ name: 'hook', kind: 'sent.hook', on_start } as never]);
    const { id } = tasks[0]!;
    const call = await eventually(() => target.received[0], 'the webhook has arrived');
    const { handle } = Object.fromEntries(new URL(call.url, target.url).searchParams) as { handle: string };
    const patch = async (body: object): Promise<void> => {
      const response = await fetch(handle, {
        method: 'PATCH',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      assert.equal(response.status, 200, await response.text());
    };
    await patch({ metadata: { seen: `Bearer ${VALUE}` } });
    await patch({
      status: 'Failure',
      failure_reason: `401 for ${VALUE}`,
      metadata: { also: `Bearer ${VALUE}` },
    });
    const task: Task = await client.getTask(id);
    assert.equal(task.failure_reason, '401 for ***');
    assert.deepEqual(task.metadata, { seen: '***', also: '***' });
  });

  test('are kept no longer than their tasks: retired values go when no task was sent them', async () => {
    await client.secrets.set('GONE', VALUE, ['sent.plain']);
    await client.secrets.delete('GONE');
    const rows = (text: string): Promise<object[]> =>
      server.database.query({ name: `test.${text.length}`, text: `select * from heddle.${text}` });
    assert.equal((await rows(`retired_secret where name = 'GONE'`)).length, 1);
    const later = { ...systemClock, now: () => systemClock.now() + 7_200_000 };
    const secrets = createNamedSecrets({
      database: server.database,
      clock: later,
      audit: { record: () => Promise.resolve() },
      keyring: () => Promise.reject(new Error('not needed')),
    });
    await secrets.retain(100);
    assert.deepEqual(await rows(`retired_secret where name = 'GONE'`), []);
    assert.equal((await rows(`retired_secret where name = 'CHANGED'`)).length, 2, 'two tasks were sent them');
  });

  test('are not known to a server without keys, which says so once', async () => {
    await client.secrets.set('ELSEWHERE', VALUE, ['sent.plain']);
    const [one, other] = [await claimed('ELSEWHERE'), await claimed('ELSEWHERE')];
    await worker.work.secrets(one);
    await worker.work.secrets(other);
    const without = new HeddleProcess(['server', '--json'], {
      DATABASE_URL: server.databaseUrl,
      PORT: '0',
      HEDDLE_REQUIRE_TOKENS: '1',
      HEDDLE_DATA_DIR: join(directory, 'none'),
    });
    try {
      const there = new HeddleClient({ baseUrl: (await without.ready()).url, token: workToken });
      await there.work.log(one, { first_line: 0, lines: [{ text: 'a line' }] });
      await there.work.complete(one, { result: 'one' });
      await there.work.complete(other, { result: 'other' });
    } finally {
      assert.equal(await without.end('SIGTERM'), 0, without.stderr);
    }
    assert.equal(without.stderr.match(/no key for secrets; reports are not redacted/g)?.length, 1, without.stderr);
  });
});
