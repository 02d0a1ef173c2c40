/** Ownership of tasks claimed over HTTP, against the real engine on a real PostgreSQL. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { createEngine } from '@heddle/core/engine/engine';
import type { Engine } from '@heddle/core/engine/port';
import { HeddleClient } from '@heddle/client';
import type { WorkDto } from '../../src/http/wire/work.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { newId, systemRandom } from '@heddle/base/random';
import type { Database } from '@heddle/core/store/database';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { createTestServer, task, type Problem, type TestServer } from '@heddle/test-support/http/server';

/** A caller: a token, a name, an address. */
interface Caller {
  token?: string;
  holder?: string;
  remoteAddress?: string;
}

const HEDDLE_TOKENS = { one: 'hdl_one', other: 'hdl_other' };

let database: Database;
let engine: Engine;
/** With tokens, and without. */
let guarded: TestServer;
let open: TestServer;

before(async () => {
  ({ database } = await createTestDatabase());
  engine = createEngine({ database, clock: systemClock, random: systemRandom, log: silentLogger });
  open = await createTestServer({ engine, database });
  guarded = await createTestServer({ engine, database, config: { authRequired: true } });
  for (const text of Object.values(HEDDLE_TOKENS)) guarded.tokens.add(text, ['work']);
  guarded.tokens.add('hdl_admin', ['admin']);
});

after(async () => {
  await guarded.app.close();
  await open.app.close();
  await engine.close();
});

async function say(
  server: TestServer,
  { token, remoteAddress, holder }: Caller,
  path: string,
  body: Record<string, unknown>,
): Promise<{ status: number; code: string | undefined; details: string[]; answer: Record<string, unknown> }> {
  const response = await server.app.inject({
    method: 'POST',
    url: `/v1/work/${path}`,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    ...(remoteAddress === undefined ? {} : { remoteAddress }),
    payload: { ...body, ...(holder === undefined ? {} : { holder }) },
  });
  const answer = response.json<Record<string, unknown>>();
  const { code, details = [] } = answer as unknown as Partial<Problem>;
  return { status: response.statusCode, code, details, answer };
}

async function claimed(server: TestServer, caller: Caller, change: Record<string, unknown> = {}): Promise<WorkDto> {
  const kind = `kind-${newId()}`;
  const response = await open.app.inject({ method: 'POST', url: '/task', payload: [task({ kind, ...change })] });
  assert.equal(response.statusCode, 201, response.body);
  const { answer } = await say(server, caller, 'claim', { kinds: [kind] });
  const [work] = answer['tasks'] as WorkDto[];
  assert.ok(work !== undefined, JSON.stringify(answer));
  return work;
}

const VERBS: [string, Record<string, unknown>][] = [
  ['heartbeat', { new_success: 1 }],
  ['children', { nodes: [{ kind: 'child' }] }],
  ['fail', { reason: 'not mine' }],
  ['release', {}],
  ['complete', { result: 'not mine' }],
];

/** Every call about the task is rejected and changes nothing. */
async function assertRefused(
  server: TestServer,
  caller: Caller,
  work: WorkDto,
  reads = server === open,
): Promise<void> {
  for (const [verb, body] of VERBS) {
    const said = await say(server, caller, `${work.id}/${verb}`, { attempt: work.attempt, ...body });
    assert.deepEqual([verb, said.status, said.code], [verb, 409, 'HELD_BY_ANOTHER']);
    assert.match(said.details[0]!, /^holder: this attempt was claimed by another worker.*the token and the holder/);
  }
  const { token, remoteAddress, holder } = caller;
  const results = await server.app.inject({
    url: `/v1/work/${work.id}/results`,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    ...(remoteAddress === undefined ? {} : { remoteAddress }),
    ...(holder === undefined ? {} : { query: { holder } }),
  });
  // A caller with a token is known for sure; results of a task from a queue can be read by any worker.
  const { code } = results.json<Partial<Problem>>();
  assert.deepEqual([results.statusCode, code], reads ? [200, undefined] : [409, 'HELD_BY_ANOTHER']);
  const { state, success_count } = (await engine.getTask(work.id))!;
  assert.deepEqual([state, success_count], ['running', 0]);
}

async function assertEnds(server: TestServer, caller: Caller, work: WorkDto): Promise<void> {
  const { id, attempt } = work;
  const beat = await say(server, caller, `${id}/heartbeat`, { attempt });
  assert.deepEqual([beat.status, beat.answer['result']], [200, 'applied']);
  const done = await say(server, caller, `${id}/complete`, { attempt });
  assert.deepEqual([done.status, done.answer['result']], [200, 'applied']);
  const again = await say(server, caller, `${id}/complete`, { attempt });
  assert.deepEqual([again.status, again.answer['result']], [200, 'unchanged']);
}

describe('a claimed task', () => {
  test('belongs to its token: no other token may report on it, under any name', async () => {
    const work = await claimed(guarded, { token: HEDDLE_TOKENS.one });
    await assertRefused(guarded, { token: HEDDLE_TOKENS.other }, work);
    await assertRefused(guarded, { token: 'hdl_admin' }, work);
    await assertRefused(guarded, { token: HEDDLE_TOKENS.other, holder: `worker at 127.0.0.1 (token hdl_one)` }, work);
    await assertEnds(guarded, { token: HEDDLE_TOKENS.one }, work);
  });

  test('belongs to its holder if several workers share a token', async () => {
    const mine = { token: HEDDLE_TOKENS.one, holder: 'host-1 7f3a' };
    const work = await claimed(guarded, mine);
    assert.equal(work.holder, 'host-1 7f3a');
    await assertRefused(guarded, { token: HEDDLE_TOKENS.one, holder: 'host-2 91bc' }, work);
    await assertRefused(guarded, { token: HEDDLE_TOKENS.one }, work);
    await assertEnds(guarded, mine, work);
  });

  test('belongs to its address if its worker has no name', async () => {
    const mine = { token: HEDDLE_TOKENS.one, remoteAddress: '10.1.1.1' };
    const work = await claimed(guarded, mine);
    assert.equal(work.holder, undefined);
    await assertRefused(guarded, { token: HEDDLE_TOKENS.one, remoteAddress: '10.1.1.2' }, work);
    await assertEnds(guarded, mine, work);
  });

  test('belongs to its holder without tokens, too, regardless of the address family of its connections', async () => {
    const named = await claimed(open, { holder: 'a worker' });
    await assertRefused(open, {}, named);
    await assertEnds(open, { holder: 'a worker' }, named);
    const unnamed = await claimed(open, { remoteAddress: '::1' });
    await assertRefused(open, { holder: 'a worker' }, unnamed);
    await assertEnds(open, { remoteAddress: '127.0.0.1' }, unnamed);
  });

  test('has the basis of its timeout', async () => {
    assert.equal((await claimed(open, {})).timeout_basis, 'activity');
    assert.equal((await claimed(open, {}, { timeout_basis: 'start' })).timeout_basis, 'start');
  });

  test('belongs to its claimer even if that is not a worker of the pull API', async () => {
    const kind = `kind-${newId()}`;
    await open.app.inject({ method: 'POST', url: '/task', payload: [task({ kind })] });
    const [work] = await engine.claim({ lanes: [`kind:${kind}`], limit: 1, holder: 'a server' });
    await assertRefused(guarded, { token: HEDDLE_TOKENS.one }, { id: work!.id, attempt: 1 } as WorkDto, true);
  });

  test('is passed with its holder in the client', async () => {
    const baseUrl = await open.app.listen({ host: '127.0.0.1', port: 0 });
    const client = new HeddleClient({ baseUrl });
    const kind = `kind-${newId()}`;
    await open.app.inject({ method: 'POST', url: '/task', payload: [task({ kind })] });
    const [work] = await client.work.claim({ kinds: [kind], holder: 'typed' });
    await client.work.heartbeat(work!);
    for await (const result of client.work.results(work!)) assert.fail(JSON.stringify(result));
    await assert.rejects(client.work.complete({ id: work!.id, attempt: work!.attempt }), { code: 'HELD_BY_ANOTHER' });
    assert.equal((await client.work.complete(work!)).state, 'Succeeded');
  });
});

describe('a task that starts by a webhook', () => {
  test('is rejected by the pull API in every state', async () => {
    const action = { kind: 'Webhook', params: { url: 'http://127.0.0.1:9/', verb: 'Post' } };
    const response = await open.app.inject({
      method: 'POST',
      url: '/task',
      payload: [task({ kind: 'hooked', on_start: action })],
    });
    assert.equal(response.statusCode, 201, response.body);
    const [{ id }] = response.json<[{ id: string }]>();
    const refusals = async (): Promise<void> => {
      for (const [verb, body] of VERBS) {
        const said = await say(open, {}, `${id}/${verb}`, { attempt: 1, ...body });
        assert.deepEqual([verb, said.status, said.code], [verb, 409, 'CONFLICT']);
        assert.match(said.details[0]!, /^task_id: starts by a webhook, .* with its handle, or by PATCH/);
      }
    };
    await refusals();
    assert.equal(await engine.claimForDelivery('deliverer', 10), 1);
    await refusals();
    assert.equal((await engine.getTask(id))!.state, 'claimed');
  });
});
