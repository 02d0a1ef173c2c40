import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { newId } from '@heddle/base/random';
import { host, modelsOf, runOf } from '@heddle/test-support/engine/models/seen';
import { createTestServer, type TestServer } from '@heddle/test-support/http/server';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { heddle, type Ran } from '../support/cli/run-command.ts';

let server: TestServer;
let url: string;

before(async () => {
  const { database } = await createTestDatabase();
  const models = modelsOf(database);
  await runOf(models, 'net', [host(1), host(2, { os: 'a' })]);
  await runOf(models, 'net', [host(2, { os: 'b\u001b[2J' }), host(3)]);
  server = await createTestServer({ models });
  url = await server.app.listen({ host: '127.0.0.1', port: 0 });
});

after(() => server.app.close());

const models = (...args: string[]): Promise<Ran> => heddle(['models', ...args, '--url', url]);

interface Listed {
  id: string;
  key: string;
}

test('models are listed with filters, as a table or as JSON', async () => {
  const all = await models('list');
  assert.equal(all.code, 0, all.stderr);
  assert.match(all.lines[0]!, /^ID +STATE +TARGET +MODEL +KEY +CHANGED +WHAT$/);
  assert.match(all.lines[1]!, / new +net +host +10\.0\.0\.3 +\d{4}-.*Z +\{"names":\[\]\}$/);
  assert.match(all.lines[2]!, / changed +net +host +10\.0\.0\.2 .* os$/);
  assert.equal(all.lines.length, 4);
  const gone = (await models('list', '--state', 'gone', '--model', 'host', '--json')).json() as Listed[];
  assert.deepEqual(
    gone.map(({ key }) => key),
    ['10.0.0.1'],
  );
  assert.equal((await models('list', '--key', '11.')).stdout, 'no matching models\n');
  const first = (await models('list', '--page-size', '1', '--json')).json() as Listed[];
  const next = (await models('list', '--target', 'net', '--after', first[0]!.id, '--json')).json() as Listed[];
  assert.equal(next.length, 2);
  const wrong = await models('list', '--changed-since', 'yesterday');
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /changed_since: /);
});

test('a model is shown with its changes; data from a network cannot control the terminal', async () => {
  const [one] = (await models('list', '--state', 'changed', '--json')).json() as Listed[];
  const shown = await models('get', one!.id);
  assert.match(shown.stdout, /^key +10\.0\.0\.2$/m);
  assert.match(shown.stdout, /^last seen +.*, run 2, in 2 runs$/m);
  assert.match(shown.stdout, /^was os +"a" -> "b/m);
  assert.ok(!shown.stdout.includes('\u001b[2J'));
});

test('targets are listed; missing objects are not found', async () => {
  const targets = await models('targets');
  assert.match(targets.lines[0]!, /^TARGET +RUNS +NEW +CHANGED +KNOWN +GONE +WHOLE +LAST RUN$/);
  assert.match(targets.lines[1]!, /^net +2 +1 +1 +0 +1 +yes +\d{4}-/);
  const missing = await models('get', newId());
  assert.equal(missing.code, 3);
  assert.match(missing.stderr, /No such model/);
  assert.equal((await models('get', 'x')).code, 2);
});
