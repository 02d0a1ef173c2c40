/** Findings over the API, on a real PostgreSQL. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { HeddleClient } from '@heddle/client';
import type { Findings, ScanBooks } from '@heddle/core/engine/findings/port';
import { newId } from '@heddle/base/random';
import { findingsOf, reported, runOf, verified } from '@heddle/test-support/engine/findings/reported';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { createTestServer, type Problem, type TestServer } from '@heddle/test-support/http/server';

interface Finding {
  id: string;
  path: string;
  state: string;
  first_seen: string;
  gone_at: string | null;
  triage: { state: string; by: string | null; at: string | null; comment: string | null };
}

const CERTAIN = { confidence: 'high', confidence_reason: 'it is', key_path: 'a[0].value', key_name: 'TOKEN' } as const;

let findings: Findings & ScanBooks;
let server: TestServer;

before(async () => {
  const { database } = await createTestDatabase();
  findings = findingsOf(database);
  server = await createTestServer({ findings });
  const commit = { id: 'c0ffee', author: 'Ann', date: '2026-01-01T00:00:00Z' };
  await runOf(findings, 'repo', [reported(1), reported(2, { path: 'lib/x.ts', commit })]);
  await runOf(findings, 'repo', [reported(2, { path: 'lib/x.ts' }), reported(3, CERTAIN)]);
  await runOf(findings, 'other/one', [reported(1)]);
});

after(() => server.app.close());

async function get<Answer>(url: string, status = 200): Promise<Answer> {
  const response = await server.app.inject(url);
  assert.equal(response.statusCode, status, response.body);
  return response.json<Answer>();
}

const list = async (query = ''): Promise<string[]> =>
  (await get<Finding[]>(`/v1/findings${query}`)).map(({ path, state }) => `${state} ${path}`);

test('lists findings with filters, newest first, page by page', async () => {
  assert.equal((await list()).length, 4);
  assert.deepEqual(await list('?target=repo'), ['new src/file-3.ts', 'known lib/x.ts', 'gone src/file-1.ts']);
  assert.deepEqual(await list('?target=repo&state=known'), ['known lib/x.ts']);
  assert.deepEqual(await list('?path=lib/'), ['known lib/x.ts']);
  assert.deepEqual(await list('?rule=made-up-token&target=other%2Fone'), ['new src/file-1.ts']);
  assert.deepEqual(await list('?triage=ignored'), []);
  assert.equal((await list('?confidence=medium')).length, 4);
  assert.deepEqual(await list('?confidence=high'), ['new src/file-3.ts']);
  assert.deepEqual(await list('?since=2199-01-01'), []);
  assert.equal((await list('?since=2020-01-01T00:00:00%2B01:00')).length, 4);
  const first = await get<Finding[]>('/v1/findings?page_size=3');
  const rest = await get<Finding[]>(`/v1/findings?page_size=3&after=${first[2]!.id.toUpperCase()}`);
  assert.deepEqual([first.length, rest.length], [3, 1]);
});

test('returns one finding, without its secret', async () => {
  const [listed] = await get<Finding[]>('/v1/findings?path=lib/');
  const finding = await get<Finding & Record<string, unknown>>(`/v1/findings/${listed!.id}`);
  assert.deepEqual(finding, { ...listed, context: [], elsewhere: [] });
  assert.equal(finding['redacted'], 'mut_***');
  const [certain] = await get<(Finding & typeof CERTAIN)[]>('/v1/findings?path=src/file-3');
  const { confidence, confidence_reason, key_path, key_name } = certain!;
  assert.deepEqual({ confidence, confidence_reason, key_path, key_name }, CERTAIN);
  assert.equal(finding['commit'], null, 'as the latest run says');
  assert.ok(!('secret' in finding) && !('match' in finding));
  assert.ok(Number.isFinite(Date.parse(finding.first_seen)));
  const missing = await get<Problem>(`/v1/findings/${newId()}`, 404);
  assert.match(missing.details[0]!, /^finding_id: no finding has the id /);
});

test('records the triage of a finding, and by which token', async () => {
  const guarded = await createTestServer({ findings, config: { authRequired: true } });
  guarded.tokens.add('ann-token', ['operate'], { name: 'ann' });
  guarded.tokens.add('reader', ['read']);
  const [listed] = await get<Finding[]>('/v1/findings?path=src/file-3');
  const url = `/v1/findings/${listed!.id}`;
  const change = (token: string, payload: object) =>
    guarded.app.inject({ method: 'PATCH', url, payload, headers: { authorization: `Bearer ${token}` } });
  const ignored = await change('ann-token', { triage: 'ignored', comment: 'made up' });
  const { triage } = ignored.json<Finding>();
  assert.deepEqual([triage.state, triage.by, triage.comment], ['ignored', 'ann', 'made up']);
  assert.ok(Date.parse(triage.at!) > 0);
  assert.deepEqual(await list('?triage=ignored'), ['new src/file-3.ts']);
  const reopened = (await change('ann-token', { triage: 'open' })).json<Finding>();
  assert.deepEqual([reopened.triage.state, reopened.triage.comment], ['open', null]);
  assert.equal((await change('reader', { triage: 'open' })).statusCode, 403);
  const wrong = (await change('ann-token', { triage: 'maybe', why: 1 })).json<Problem>();
  assert.equal(wrong.details.length, 2);
  assert.equal((await guarded.app.inject(url)).statusCode, 401);
  await guarded.app.close();
});

test('lists targets with their latest runs', async () => {
  const targets =
    await get<{ target: string; runs: number; last_run: Record<string, unknown> }[]>('/v1/findings/targets');
  assert.deepEqual(
    targets.map(({ target, runs }) => [target, runs]),
    [
      ['other/one', 1],
      ['repo', 2],
    ],
  );
  const { number, complete, by_rule } = targets[1]!.last_run;
  assert.deepEqual([number, complete, by_rule], [2, true, [{ rule_id: 'made-up-token', new: 1, known: 1, gone: 1 }]]);
});

test('rejects invalid filters by name', async () => {
  for (const query of [
    'state=old',
    'since=yesterday',
    'since=2026-13-45',
    'after=1',
    `after=${newId()}`,
    'targets=x',
    'path=',
  ]) {
    const { details } = await get<Problem>(`/v1/findings?${query}`, 400);
    assert.ok(details[0]!.startsWith(query.split('=')[0]!), details[0]);
  }
});

test('triages many findings in one call, and says why the others did not change', async () => {
  const client = new HeddleClient({ baseUrl: await server.app.listen({ host: '127.0.0.1', port: 0 }) });
  await runOf(findings, 'many/one', [reported(31), reported(32)]);
  await runOf(findings, 'many/two', [reported(33), reported(34)]);
  const ids = [
    ...(await client.findings.list({ target: 'many/one' })),
    ...(await client.findings.list({ target: 'many/two' })),
  ].map(({ id }) => id);
  const unknown = newId();
  const change = { triage: 'ignored', comment: 'made up' } as const;
  const first = await client.findings.changeMany([ids[0]!, ids[0]!.toUpperCase(), ids[2]!, unknown], change);
  assert.deepEqual(first, { changed: [ids[0], ids[2]], unchanged: [{ id: unknown, reason: 'No such finding' }] });
  const again = await client.findings.changeMany(ids, change);
  assert.deepEqual(again.changed, [ids[1], ids[3]]);
  assert.deepEqual(
    again.unchanged.map(({ reason }) => reason),
    ['It is ignored already, with this comment', 'It is ignored already, with this comment'],
  );
  const { triage } = await client.findings.get(ids[3]!);
  assert.deepEqual([triage.state, triage.comment], ['ignored', 'made up']);
  const other = await client.findings.changeMany(ids.slice(0, 1), { triage: 'ignored', comment: 'for another reason' });
  assert.deepEqual(other.changed, ids.slice(0, 1));
  await assert.rejects(client.findings.changeMany([], { triage: 'open' }), /ids/);
  await assert.rejects(
    client.findings.changeMany(
      Array.from({ length: 1001 }, () => newId()),
      { triage: 'open' },
    ),
    /ids/,
  );
});

test('triage and merges of the same findings at once block neither', async () => {
  const reports = Array.from({ length: 200 }, (_, n) => reported(1000 + n));
  await runOf(findings, 'busy', reports);
  const ids = (await findings.list({ target: 'busy' }, { after: null, limit: 200 })).map(({ id }) => id);
  const triage = (state: 'ignored' | 'open') => findings.triage(ids, { state, comment: null, by: null });
  for (let round = 0; round < 5; round += 1) {
    await Promise.all([
      triage('ignored'),
      runOf(findings, 'busy', reports.toReversed()),
      triage('open'),
      runOf(findings, 'busy', reports),
    ]);
  }
  const outcomes = await triage('ignored');
  assert.equal(outcomes.length, 200);
});

test('one finding has the lines around it, and the other places of its secret, which a list filters by', async () => {
  const secret_id = 'ab'.repeat(16);
  const context = [
    { number: 1, text: 'x = 1' },
    { number: 2, text: 'key = mut_***', mark: { start: 6, end: 13 } },
  ];
  const commit = { id: 'c0ffee', author: 'Ann', date: '2026-01-01T00:00:00Z', subject: 'Add a key' };
  await runOf(findings, 'places/a', [reported(31, { secret_id, context, commit })]);
  await runOf(findings, 'places/b', [reported(32, { secret_id }), reported(33, { secret_id: 'cd'.repeat(16) })]);
  const [listed] = await get<(Finding & { context?: unknown })[]>('/v1/findings?target=places/a');
  assert.equal(listed!.context, undefined, 'a list has no contexts');
  interface Detail extends Finding {
    commit: object;
    context: object[];
    elsewhere: { id: string; target: string; path: string; line: number; state: string; triage: string }[];
  }
  const detail = await get<Detail>(`/v1/findings/${listed!.id}`);
  assert.deepEqual(detail.context, [{ ...context[0], mark: null }, context[1]]);
  assert.deepEqual(detail.commit, commit);
  assert.deepEqual(
    detail.elsewhere.map(({ target, path, line, state, triage }) => [target, path, line, state, triage]),
    [['places/b', 'src/file-32.ts', 32, 'new', 'open']],
  );
  assert.deepEqual(await list(`?secret=${secret_id}`), ['new src/file-32.ts', 'new src/file-31.ts']);
  const refused = await get<Problem>('/v1/findings?secret=other', 400);
  assert.match(JSON.stringify(refused), /secret: .*secret_id/);
  // A later run replaces the lines; a repeat within one run does not.
  const moved = [{ number: 7, text: 'key = mut_***' }];
  await runOf(findings, 'places/a', [reported(31, { secret_id, context: moved })]);
  const again = await get<Detail>(`/v1/findings/${listed!.id}`);
  assert.deepEqual(again.context, [{ ...moved[0], mark: null }]);
});

test('verdicts are kept, listed by, and replaced by later ones only', async () => {
  const verdictOf = async (path: string): Promise<unknown> =>
    (await get<{ verification: unknown; path: string }[]>('/v1/findings?target=verified')).find(
      (each) => each.path === path,
    )!.verification;
  const [first, second] = [reported(1), reported(2)];
  await runOf(findings, 'verified', [{ ...first, verification: verified('active', 5) }, second]);
  assert.deepEqual(await list('?target=verified&verdict=active'), ['new src/file-1.ts']);
  assert.deepEqual(await list('?target=verified&verdict=inactive'), []);
  assert.deepEqual(await verdictOf('src/file-1.ts'), verified('active', 5));
  assert.equal(await verdictOf('src/file-2.ts'), null);
  await runOf(findings, 'verified', [first, second]);
  assert.deepEqual(await verdictOf('src/file-1.ts'), verified('active', 5), 'a run that does not verify keeps it');
  const later = [first, second].map(({ fingerprint }) => ({ fingerprint, verification: verified('inactive', 7) }));
  assert.equal(await findings.verify('verified', later), 2);
  assert.equal(await findings.verify('other/one', later), 1);
  const earlier = [{ fingerprint: first.fingerprint, verification: verified('active', 6) }];
  assert.equal(await findings.verify('verified', earlier), 0);
  assert.deepEqual(await verdictOf('src/file-1.ts'), verified('inactive', 7));
  await get('/v1/findings?verdict=maybe', 400);
  await assert.rejects(
    findings.verify('verified', [
      { ...earlier[0]!, verification: { ...verified('active', 9), verdict: 'x' as 'active' } },
    ]),
  );
});
