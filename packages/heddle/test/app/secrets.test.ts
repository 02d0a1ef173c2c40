/** Secrets, from `heddle secret set` to commands, kinds and webhooks that use them, on a real server. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import type { HeddleApiError } from '@heddle/client';
import { HeddleClient, type Task } from '@heddle/client';
import { newSecretKey } from '@heddle/base/keyring';
import { eventually } from '@heddle/test-support/eventually';
import { startHeddle, type Heddle } from '@heddle/test-support/cli/heddle';
import { addSecretKey } from '../../src/app/secret-keys.ts';
import { heddle, type Ran } from '../support/cli/run-command.ts';
import { startTarget, type Target } from '../support/dispatch/targets.ts';

const TIER = spawnSync('bwrap', ['--version']).status === 0 ? 'jail' : 'process';
const VALUE = 's3cr3t/v+lue "quoted" & more';

interface Ended {
  task: Task;
  result: unknown;
  log: string[];
}

describe('secrets', { concurrency: false }, () => {
  let directory: string;
  let keyFile: string;
  let server: Heddle;
  let client: HeddleClient;
  let target: Target;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'heddle-secrets-'));
    keyFile = join(directory, 'keys');
    await writeFile(keyFile, `${newSecretKey()}\n`);
    const flags = {
      HEDDLE_COMMANDS: TIER,
      HEDDLE_SECRET_KEY_FILE: keyFile,
      HEDDLE_MODULES: join(import.meta.dirname, '../support/app/secret-kinds.ts'),
    };
    server = await startHeddle({ flags, scopes: ['admin'] });
    client = new HeddleClient({ baseUrl: server.url, token: server.token! });
    target = await startTarget((_request, response) => response.writeHead(204).end());
  });

  after(async () => {
    await target.close();
    await server.stop();
    await rm(directory, { recursive: true });
  });

  const cli = (args: readonly string[], stdin?: string): Promise<Ran> =>
    heddle(['secret', ...args, '--url', server.url, '--token', server.token!], stdin === undefined ? {} : { stdin });

  async function run(kind: string, metadata: Record<string, unknown>, extra: object = {}): Promise<Ended> {
    const { tasks } = await client.submit([{ name: 'secret', kind, metadata, ...extra }]);
    const { id } = tasks[0]!;
    const task = await eventually(async () => {
      const now = await client.getTask(id);
      return now.ended_at === null ? undefined : now;
    }, `task ${id} has ended`);
    const log = (await client.taskLogs(id)).lines.map(({ text }) => text);
    return { task, result: (await client.taskResult(id))?.data, log };
  }

  test('are set from standard input, listed without their values, and deleted', async () => {
    const set = await cli(
      ['set', 'API_TOKEN', '--grant', 'Command', '--grant', new URL(target.url).origin],
      `${VALUE}\n`,
    );
    assert.equal(set.code, 0, set.stderr);
    assert.match(set.stdout, /^API_TOKEN is set, for Command, http:/);
    const listed = await cli(['list']);
    assert.match(listed.lines[1]!, /^API_TOKEN +Command, http:\S+ +\S+ +known$/);
    assert.ok(!listed.stdout.includes(VALUE));
    assert.equal((await cli(['set', 'OTHER'], 'value')).code, 2, 'a new secret needs grants');
    assert.equal((await cli(['set', 'lower', '--grant', 'Command'], 'value')).code, 2);
    assert.equal((await cli(['set', 'EMPTY', '--grant', 'Command'], '')).code, 2);
    assert.equal((await cli(['set', 'URL', '--grant', 'https://a.example/path'], 'value')).code, 2);
    assert.equal((await cli(['set', 'GONE', '--grant', 'Command'], 'value')).code, 0);
    assert.equal((await cli(['delete', 'GONE'])).code, 0);
    assert.equal((await cli(['delete', 'GONE'])).code, 3);
  });

  test('reach a command in its variables, its input and its files, and are redacted in all that it says', async () => {
    const secret = { secret: 'API_TOKEN' };
    const { task, result, log } = await run('Command', {
      run: `test "$TOKEN" = "$(cat)" && test "$TOKEN" = "$(cat token.txt)"
        echo "raw $TOKEN"; echo "b64 $(printf %s "xy$TOKEN" | base64 -w0)"; echo "err $TOKEN" >&2
        printf 'x%.0s' $(seq 8180); echo "$TOKEN"
        printf %s "$TOKEN" > "$HEDDLE_RESULT"`,
      env: { TOKEN: secret },
      stdin: secret,
      files: { 'token.txt': secret },
    });
    assert.equal(task.status, 'Success', task.failure_reason ?? '');
    assert.equal(result, '***');
    assert.ok(log.includes('raw ***') && log.includes('err ***'));
    assert.ok(
      log.some((line) => /^b64 \S*\*\*\*/.test(line)),
      log.join('\n'),
    );
    const everything = JSON.stringify([task, result, log]);
    for (const part of [VALUE, VALUE.slice(0, 12), Buffer.from(VALUE).toString('base64').slice(4, 24)]) {
      assert.ok(!everything.includes(part), part);
    }
    assert.deepEqual((task.metadata as { stdin: unknown }).stdin, secret, 'the task shows the name');
    const failed = await run('Command', { run: 'echo "it was $TOKEN" >&2; exit 3', env: { TOKEN: secret } });
    assert.equal(failed.task.failure_reason, 'it exited with 3: it was ***');
  });

  test('reach a kind of a module as a part of its input; its logs, errors and results are redacted', async () => {
    await cli(['set', 'FOR_KIND', '--grant', 'Telling'], VALUE);
    const { task, result, log } = await run('Telling', { nested: [{ token: { secret: 'FOR_KIND' } }] });
    assert.equal(task.status, 'Success', task.failure_reason ?? '');
    assert.deepEqual(result, { length: VALUE.length, said: '<***>' });
    assert.deepEqual(log, ['it is *** {"token":"[redacted]"}', 'printed ***']);
    const failed = await run('Telling', { nested: [{ token: { secret: 'FOR_KIND' } }], fail: true });
    assert.match(failed.task.failure_reason!, /^x+\*\*\*/);
    assert.ok(!failed.task.failure_reason!.includes('s3cr3t'));
  });

  test('are refused to a kind without the grant, and if they do not exist, without another attempt', async () => {
    const retry = { retry: { max_attempts: 3, backoff_secs: 1 } };
    const denied = await run('Telling', { nested: [{ token: { secret: 'API_TOKEN' } }] }, retry);
    assert.equal(denied.task.failure_reason, 'the secret API_TOKEN is not granted to Telling');
    assert.equal(denied.task.attempt, 1);
    const unknown = await run('Command', { argv: ['true'], env: { A: { secret: 'NO_SUCH' } } });
    assert.match(unknown.task.failure_reason!, /^there is no secret NO_SUCH; set it with: heddle secret set NO_SUCH$/);
  });

  test('cannot be named by the result of an earlier task', async () => {
    const { id } = await client.submitWorkflow({
      name: 'injection',
      root: {
        mode: 'sequential',
        children: [
          { kind: 'Command', local_id: 'first', input: { argv: ['echo', '{"secret":"API_TOKEN"}'], result: 'json' } },
          {
            kind: 'Command',
            local_id: 'second',
            input: { argv: ['cat'], stdin: { $expr: 'nodes.first.result' }, result: 'text' },
          },
        ],
      },
    });
    const tree = await eventually(async () => {
      const now = await client.getWorkflow(id);
      return now.ended_at === null ? undefined : now;
    }, 'the workflow has ended');
    const second = tree.root.children.find((child) => child.local_id === 'second') as { id: string; status: string };
    assert.equal(second.status, 'Failure');
    assert.match((await client.getTask(second.id)).failure_reason!, /the value of an expression names a secret/);
  });

  test('are sent in the headers of a webhook to the origins that are granted, and to no other', async () => {
    const action = (url: string): object => ({
      kind: 'Webhook',
      params: { url, verb: 'Post', headers: { authorization: { secret: 'API_TOKEN' }, 'x-plain': 'plain' } },
    });
    const { tasks } = await client.submit([
      { name: 'hook', kind: 'Hooked', on_start: action(`${target.url}/start`) } as never,
    ]);
    const received = await eventually(() => target.received[0], 'the webhook has arrived');
    assert.equal(received.headers['authorization'], VALUE);
    assert.equal(received.headers['x-plain'], 'plain');
    const shown = await client.getTask(tasks[0]!.id);
    assert.ok(!JSON.stringify(shown).includes(VALUE));

    const elsewhere = target.url.replace('127.0.0.1', 'localhost');
    const other = await client.submit([{ name: 'hook', kind: 'Hooked', on_start: action(elsewhere) } as never]);
    const [dead] = await eventually(async () => {
      const found = await client.listWebhooks({ task_id: other.tasks[0]!.id });
      return found.some(({ state }) => state === 'dead') ? found : undefined;
    }, 'the delivery is dead');
    assert.match(JSON.stringify(dead), /the secret API_TOKEN is not granted to http:\/\/localhost/);
    assert.equal(target.received.length, 1);
  });

  test('are listed in the audit log at every use and every refusal', async () => {
    const entries = await client.audit.list({ page_size: 100 });
    const of = (action: string) => entries.filter((entry) => entry.action === action).map(({ object }) => object);
    assert.ok(of('secret use').includes('API_TOKEN Command'));
    assert.ok(of('secret use').includes('FOR_KIND Telling'));
    assert.ok(of('secret use').includes(`API_TOKEN ${new URL(target.url).origin}`));
    assert.ok(of('secret refuse').includes('API_TOKEN Telling'));
    assert.ok(of('PUT /v1/secrets/:name').includes('API_TOKEN'));
    assert.ok(!JSON.stringify(entries).includes('s3cr3t'));
  });

  test('are encrypted in the database, bound to their names and grants', async () => {
    const query = (text: string): Promise<object[]> => server.database.query({ name: `test.${text.length}`, text });
    const [row] = (await query(`select sealed, key_id from heddle.named_secret where name = 'API_TOKEN'`)) as [
      { sealed: Buffer; key_id: string },
    ];
    assert.ok(!Buffer.from(row.sealed).includes('s3cr3t'));
    await query(`update heddle.named_secret set grants = grants || '{Telling}' where name = 'API_TOKEN'`);
    const widened = await run('Telling', { nested: [{ token: { secret: 'API_TOKEN' } }] });
    assert.match(widened.task.failure_reason!, /was changed in the database; set it again/);
    await query(`update heddle.named_secret set grants = array_remove(grants, 'Telling') where name = 'API_TOKEN'`);
  });

  test('are encrypted with a new key by rotation; the old key is not needed any more', async () => {
    const older = await readFile(keyFile, 'utf8');
    await addSecretKey(keyFile);
    const both = await readFile(keyFile, 'utf8');
    assert.ok(both.endsWith(older) && both.length > older.length);
    assert.equal((await stat(keyFile)).mode & 0o777, 0o600);
    const rotated = await cli(['rotate']);
    assert.match(rotated.stdout, /^2 secrets encrypted with the first key/);
    assert.match((await cli(['rotate'])).stdout, /^0 secrets/);
    await writeFile(keyFile, both.slice(0, both.length - older.length));
    const { task } = await run('Command', { run: 'test -n "$A"', env: { A: { secret: 'API_TOKEN' } } });
    assert.equal(task.status, 'Success', task.failure_reason ?? '');

    await writeFile(keyFile, older);
    const without = await run('Command', { run: 'test -n "$A"', env: { A: { secret: 'API_TOKEN' } } });
    assert.match(
      without.task.failure_reason!,
      /^This process has no key [0-9a-f]{8}, which the secret API_TOKEN needs/,
    );
    await writeFile(keyFile, '');
    await assert.rejects(
      client.secrets.set('NEW', 'value', ['Command']),
      (error: HeddleApiError) => error.status === 409,
    );
  });
});
