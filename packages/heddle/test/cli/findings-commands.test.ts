import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { newId } from '@heddle/base/random';
import { findingsOf, reported, runOf } from '@heddle/test-support/engine/findings/reported';
import { createTestServer, type TestServer } from '@heddle/test-support/http/server';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { heddle, type Ran } from '../support/cli/run-command.ts';

let server: TestServer;
let url: string;
let books: ReturnType<typeof findingsOf>;

before(async () => {
  const { database } = await createTestDatabase();
  books = findingsOf(database);
  await runOf(books, 'shop', [reported(1), reported(2)]);
  await runOf(books, 'shop', [reported(2, { path: 'a\u001b[2Jb.ts' }), reported(3, { rule_id: 'other' })]);
  server = await createTestServer({ findings: books });
  url = await server.app.listen({ host: '127.0.0.1', port: 0 });
});

after(() => server.app.close());

const findings = (...args: string[]): Promise<Ran> => heddle(['findings', ...args, '--url', url]);

interface Listed {
  id: string;
  path: string;
  triage: { state: string; comment: string | null };
}

test('findings are listed with filters, as a table or as JSON', async () => {
  const all = await findings('list');
  assert.equal(all.code, 0, all.stderr);
  assert.match(all.lines[0]!, /^ID +STATE +TRIAGE +TARGET +RULE +PLACE +SECRET$/);
  assert.match(all.lines[1]!, / new +open +shop +other +src\/file-3\.ts:3 +mut_\*\*\*$/);
  assert.equal(all.lines.length, 4);
  const gone = (await findings('list', '--state', 'gone', '--json')).json() as Listed[];
  assert.deepEqual(
    gone.map(({ path }) => path),
    ['src/file-1.ts'],
  );
  assert.equal(
    ((await findings('list', '--rule', 'other', '--target', 'shop', '--json')).json() as Listed[]).length,
    1,
  );
  assert.equal((await findings('list', '--path', 'nowhere')).stdout, 'no matching findings\n');
  const first = (await findings('list', '--page-size', '1', '--json')).json() as Listed[];
  const next = (await findings('list', '--page-size', '5', '--after', first[0]!.id, '--json')).json() as Listed[];
  assert.equal(next.length, 2);
  const wrong = await findings('list', '--since', 'yesterday');
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /since: /);
});

test('a finding is shown, ignored and reopened; names from scanned files cannot control the terminal', async () => {
  const [one] = (await findings('list', '--state', 'known', '--json')).json() as Listed[];
  const shown = await findings('get', one!.id);
  assert.match(shown.stdout, /^place +src\/file-2\.ts:2:1$/m);
  assert.match(shown.stdout, /^last seen +.*, in 2 runs$/m);
  const ignored = await findings('ignore', one!.id, '--comment', 'made up', '--false-positive', '--json');
  assert.deepEqual((ignored.json() as Listed).triage.state, 'false_positive');
  assert.match((await findings('get', one!.id)).stdout, /^triage +false positive, .*\ncomment +made up$/m);
  const reopened = (await findings('reopen', one!.id, '--json')).json() as Listed;
  assert.deepEqual([reopened.triage.state, reopened.triage.comment], ['open', null]);
  for (const { stdout } of [await findings('list'), shown]) assert.ok(!stdout.includes('\u001b[2J'));
});

test('targets are listed; missing objects are not found', async () => {
  const targets = await findings('targets');
  assert.match(targets.lines[0]!, /^TARGET +RUNS +NEW +KNOWN +GONE +WHOLE +LAST RUN$/);
  assert.match(targets.lines[1]!, /^shop +2 +1 +1 +1 +yes +\d{4}-/);
  const missing = await findings('get', newId());
  assert.equal(missing.code, 3);
  assert.match(missing.stderr, /No such finding/);
  assert.equal((await findings('ignore', newId())).code, 3);
  assert.equal((await findings('ignore', 'x')).code, 2);
});

test('a finding is shown with the lines around it and the other places of its secret', async () => {
  const secret_id = 'ab'.repeat(16);
  const context = [
    { number: 9, text: 'x = 1\u001b[2J' },
    { number: 10, text: 'key = mut_***', mark: { start: 6, end: 13 } },
  ];
  await runOf(books, 'here', [reported(51, { secret_id, context })]);
  await runOf(books, 'there', [reported(52, { secret_id })]);
  const both = (await findings('list', '--secret', secret_id, '--json')).json() as Listed[];
  assert.deepEqual(
    both.map(({ path }) => path),
    ['src/file-52.ts', 'src/file-51.ts'],
  );
  const { stdout } = await findings('get', both[1]!.id);
  assert.match(stdout, /\n {3}9 \| x = 1.*\n> 10 \| key = mut_\*\*\*\n/);
  assert.match(stdout, /elsewhere:\nID .*\n.* there +src\/file-52\.ts:52\n/);
  assert.ok(!stdout.includes('\u001b[2J'));
});
