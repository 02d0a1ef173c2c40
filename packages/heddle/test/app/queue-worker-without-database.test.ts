/** A worker that receives its tasks from SQS and has no database: logs, files and secrets travel over HTTP. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { startFauxqs, type FauxqsServer } from 'fauxqs';
import { HeddleClient, type Task } from '@heddle/client';
import { systemClock } from '@heddle/base/clock';
import { newSecretKey } from '@heddle/base/keyring';
import { systemRandom } from '@heddle/base/random';
import { TokenStore } from '@heddle/core/store/tokens';
import { HeddleProcess } from '@heddle/test-support/app/heddle-process';
import { startHeddle, type Heddle } from '@heddle/test-support/cli/heddle';
import { eventually } from '@heddle/test-support/eventually';

const TIER = spawnSync('bwrap', ['--version']).status === 0 ? 'jail' : 'process';
const VALUE = 'v3ry secret';

describe('a queue worker without a database', { concurrency: false }, () => {
  let directory: string;
  let sqs: FauxqsServer;
  let server: Heddle;
  let client: HeddleClient;
  let tokens: TokenStore;
  let worker: HeddleProcess;

  before(async () => {
    process.env['AWS_ACCESS_KEY_ID'] = 'test';
    process.env['AWS_SECRET_ACCESS_KEY'] = 'test';
    directory = await mkdtemp(join(tmpdir(), 'heddle-queue-worker-'));
    const keyFile = join(directory, 'keys');
    await writeFile(keyFile, `${newSecretKey()}\n`);
    sqs = await startFauxqs({ port: 0, logger: false, host: '127.0.0.1' });
    const endpoint = encodeURIComponent(`http://127.0.0.1:${sqs.port}`);
    const QUEUE_URL = `sqs://eu-west-1/000000000000/queueworker?create=1&endpoint=${endpoint}`;
    const flags = {
      HEDDLE_REQUIRE_TOKENS: '1',
      HEDDLE_ARTIFACTS_DIR: join(directory, 'artifacts'),
      HEDDLE_COMMANDS: 'off',
      HEDDLE_SECRET_KEY_FILE: keyFile,
      QUEUE_URL,
    };
    server = await startHeddle({ flags, scopes: ['admin'] });
    client = new HeddleClient({ baseUrl: server.url, token: server.token! });
    tokens = new TokenStore({ database: server.database, clock: systemClock, random: systemRandom });
    worker = new HeddleProcess(['worker', '--json'], {
      QUEUE_URL,
      HEDDLE_URL: server.url,
      HEDDLE_TOKEN: (await tokens.create('queue worker', ['read', 'work'], null, { kinds: ['Command'], classes: null }))
        .text,
      HEDDLE_DATA_DIR: join(directory, 'none'),
      HEDDLE_COMMANDS: TIER,
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
    });
    await worker.ready();
    await client.secrets.set('PASSWORD', VALUE, ['Command']);
  });

  after(async () => {
    worker.child.kill('SIGKILL');
    await worker.exited;
    await server.stop();
    await sqs.stop();
    await rm(directory, { recursive: true });
  });

  async function ended(id: string): Promise<Task> {
    return eventually(async () => {
      const now = await client.getTask(id);
      return now.ended_at === null ? undefined : now;
    }, `task ${id} has ended`);
  }

  test('stores the output and the files of a command, and gets the secrets that its input names', async () => {
    const input = {
      run: 'echo "it is $PASSWORD"; printf %s "$PASSWORD" | wc -c > length.txt',
      env: { PASSWORD: { secret: 'PASSWORD' } },
      artifacts: ['length.txt'],
    };
    const { tasks } = await client.submit([{ name: 'command', kind: 'Command', metadata: input }]);
    const { id } = tasks[0]!;
    const task = await ended(id);
    assert.equal(task.status, 'Success', `${task.failure_reason}\n${worker.stderr}`);
    assert.deepEqual(
      (await client.taskLogs(id)).lines.map(({ text }) => text),
      ['it is ***'],
    );
    const [artifact] = await client.artifacts.list(id);
    const content = await client.artifacts.download(artifact!.id);
    assert.equal((await new Response(content).text()).trim(), String(VALUE.length));
    const [attempt] = await client.taskAttempts(id);
    assert.match(attempt!.claimed_by!, /^queue of /);
    const entries = await client.audit.list();
    const use = entries.find(({ action }) => action === 'secret use');
    assert.match(use!.actor!, new RegExp(`^task:${id}, worker at .* \\(token queue worker\\)$`));
    assert.equal(use!.object, 'PASSWORD Command');
  });

  test('a token for another kind can neither add to the task nor read its secrets', async () => {
    const input = { run: 'sleep 600', env: { PASSWORD: { secret: 'PASSWORD' } } };
    const { tasks } = await client.submit([{ name: 'command', kind: 'Command', metadata: input }]);
    const { id } = tasks[0]!;
    await eventually(async () => (await client.getTask(id)).status === 'Running', 'it runs');
    const other = async (kinds: string[] | null): Promise<HeddleClient['work']> => {
      const { text: token } = await tokens.create(`for ${String(kinds)}`, ['work'], null, { kinds, classes: null });
      return new HeddleClient({ baseUrl: server.url, token }).work;
    };
    const held = { id, attempt: 1 };
    const stranger = await other(['Other']);
    const forbidden = { status: 403, code: 'FORBIDDEN', message: /kinds: the token is for Other, not for Command/ };
    const line = { first_line: 0, lines: [{ text: 'not mine' }] };
    const file = new Blob(['not mine']).stream();
    await assert.rejects(stranger.log(held, line), forbidden);
    await assert.rejects(stranger.putArtifact(held, 'not-mine', file), forbidden);
    await assert.rejects(stranger.openArtifact(held, 'a/b'), forbidden);
    await assert.rejects(stranger.secrets(held), forbidden);
    await assert.rejects(stranger.complete(held), forbidden);
    const unlimited = await other(null);
    await assert.rejects(unlimited.secrets(held), { status: 403, message: /and to tokens of some kinds/ });
    const colleague = await other(['Command']);
    // Reports come by the queue, so that no caller over HTTP ends a task of another worker.
    await assert.rejects(colleague.complete(held), { code: 'HELD_BY_ANOTHER' });
    await assert.rejects(colleague.secrets({ id, attempt: 2 }), { code: 'STALE_ATTEMPT' });
    await client.cancelTask(id);
    await ended(id);
    await assert.rejects(colleague.secrets(held), { code: 'STALE_ATTEMPT' });
  });
});
