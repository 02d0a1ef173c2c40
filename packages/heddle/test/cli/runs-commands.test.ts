import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { newId } from '@heddle/base/random';
import { createRuns } from '@heddle/core/engine/runs/runs';
import { newBench, newTask } from '@heddle/test-support/engine/fixture';
import { createTestServer, type TestServer } from '@heddle/test-support/http/server';
import { heddle, type Ran } from '../support/cli/run-command.ts';

let server: TestServer;
let url: string;

before(async () => {
  const { engine, database } = await newBench();
  for (const name of ['import', 'export \u001b[2J']) {
    const tasks = [newTask({ metadata: { tenant: 7 } }), newTask({ kind: 'sum' })];
    await engine.submit([{ workflow_id: newId(), name, tasks, traceparent: null, idempotency: null }]);
  }
  server = await createTestServer({ engine, runs: createRuns(database) });
  url = await server.app.listen({ host: '127.0.0.1', port: 0 });
});

after(() => server.app.close());

const run = (...args: string[]): Promise<Ran> => heddle([...args, '--url', url]);

test('runs are listed with filters, as a table or as JSON', async () => {
  const all = await run('runs', 'list');
  assert.equal(all.code, 0, all.stderr);
  assert.match(all.lines[0]!, /^ID +TYPE +STATE +TITLE +ENDED +FAILED +CREATED +TOOK$/);
  assert.match(all.lines[2]!, / batch +Waiting +import +0\/2 +0 +.* ago +unfinished$/);
  assert.ok(!all.stdout.includes('\u001b[2J'));
  interface List {
    runs: { name: string }[];
    next: string | null;
  }
  const some = (
    await run('runs', 'list', '--search', 'IMP', '--state', 'open', '--metadata', '{"tenant":7}', '--json')
  ).json() as List;
  assert.deepEqual(
    some.runs.map(({ name }) => name),
    ['import'],
  );
  const first = (await run('runs', 'list', '--page-size', '1', '--json')).json() as List;
  const rest = await run('runs', 'list', '--page-size', '1', '--after', first.next!);
  assert.match(rest.stdout, /import/);
  assert.match((await run('runs', 'list', '--page-size', '1')).stdout, /^more with --after [0-9a-f-]{36}$/m);
  assert.equal((await run('runs', 'list', '--name', 'none')).stdout, 'no matching runs among 0 examined\n');
  assert.equal((await run('runs', 'list', '--metadata', '[]')).code, 2);
});

test('a search finds things by name', async () => {
  const found = await run('search', 'IMPORT');
  assert.equal(found.code, 0, found.stderr);
  assert.match(found.stdout, /^run +[0-9a-f-]{36} +Waiting +import +batch$/m);
  assert.equal((await run('search', 'nowhere')).stdout, 'nothing found\n');
});
