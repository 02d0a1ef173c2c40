import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, test } from 'node:test';

import { PoolWorld } from '@heddle/test-support/http/pool-world';
import { createTestServer, type TestServer } from '@heddle/test-support/http/server';
import { eventually } from '@heddle/test-support/eventually';
import { heddle, type Ran, type RunOptions } from '../support/cli/run-command.ts';

let world: PoolWorld;
let server: TestServer;
let url: string;

beforeEach(async () => {
  world = new PoolWorld();
  server = await createTestServer({ pool: world.pool });
  url = await server.app.listen({ host: '127.0.0.1', port: 0 });
  world.pool.start();
});

afterEach(async () => {
  await server.app.close();
  await world.pool.stop();
});

const pool = (...args: string[]): Promise<Ran> => heddle(['pool', ...args, '--url', url]);
const poolWith = (options: RunOptions, ...args: string[]): Promise<Ran> =>
  heddle(['pool', ...args, '--url', url], options);

/** Lets the agent of every launched runner register, until `done`. */
async function agentsSpeakUntil(done: () => Promise<boolean>): Promise<void> {
  await eventually(async () => {
    for (const { id, provider_id } of await world.store.list({ state: 'created' }, { offset: 0, limit: 100 })) {
      if (provider_id !== null) await world.register(id);
    }
    return done();
  }, 'the runners have come');
}

test('the pool is counted by class, and reports problems', async () => {
  const none = await pool('status');
  assert.deepEqual(none.lines, [
    'runners: 0 of at most 8; provider fake, backend postgres',
    'no runners and no waiting requests',
  ]);
  await world.arrive(2);
  world.provider.troubles.push('capacity', 'capacity', 'capacity');
  await pool('hold', '--class', '4xl', '--no-wait');
  let status = await pool('status');
  await eventually(async () => {
    status = await pool('status');
    return status.stdout.includes('held back');
  }, 'a launch has failed');
  assert.match(status.stdout, /^CLASS +USAGE +LAUNCHING +IDLE +CLAIMED +RUNNING +WAITING$/m);
  assert.match(status.stdout, /^large +on-demand +0 +2 +0 +0 +0$/m);
  assert.match(status.stdout, /^launches of 4xl are held back: .*capacity/m);
  const { census } = (await pool('status', '--json')).json() as { census: { resource_class: string; idle: number }[] };
  assert.equal(census.find(({ resource_class }) => resource_class === 'large')!.idle, 2);
});

test('classes are listed', async () => {
  const { lines, code } = await pool('classes');
  assert.equal(code, 0);
  assert.match(lines[0]!, /^CLASS +PROCESSORS +MIN MIB +MIN IDLE$/);
  assert.match(lines[1]!, /^large +2 +4096 +-$/);
});

test('runners are launched, listed and shown', async () => {
  const launched = await pool('provision', '--class', 'large', '--count', '2');
  assert.deepEqual(launched.lines, ['2 runners launching; list them with: heddle pool list']);
  await agentsSpeakUntil(async () => (await pool('list', '--state', 'idle')).lines.length === 3);
  const { lines } = await pool('list');
  assert.match(lines[0]!, /^ID +NO +STATE +CLASS +USAGE +TYPE +FOR +USES +DOES$/);
  assert.match(lines[1]!, /^[0-9a-f-]{36} +3 +idle +large +on-demand +a\.large .* ends in .* unless it is claimed$/);
  const [id] = lines[1]!.split(' ');
  const shown = await pool('get', id!);
  assert.match(shown.stdout, /^state +idle$/m);
  assert.match(shown.stdout, /^claims +0, 0 started$/m);
  assert.equal((await pool('list', '--class', 'xlarge')).stdout, 'no matching runners\n');
  assert.equal((await pool('list', '--page', '1', '--page-size', '1', '--json')).jsonLines().length, 1);
  const crowd = await pool('provision', '--class', 'large', '--count', '20');
  assert.equal(crowd.code, 1);
  assert.match(crowd.lines[1]!, /^14 runners not launched: .*HEDDLE_POOL_MAX_RUNNERS$/);
});

test('launches are awaited, and a failed launch is a failure', async () => {
  const waiting = pool('provision', '--class', 'large', '--count', '2', '--type', 'a.*', '--wait');
  const settled = waiting.then(() => true);
  await agentsSpeakUntil(() => Promise.race([settled, Promise.resolve(false)]));
  const done = await waiting;
  assert.equal(done.code, 0, done.stderr);
  assert.match(done.lines[0]!, /^✔ [0-9a-f-]{36} is idle after [0-9.]+ s, a\.x$/);
  assert.equal(done.lines.length, 2);
  world.provider.troubles.push('refused');
  const refused = await pool('provision', '--class', 'xlarge', '--wait');
  assert.equal(refused.code, 1);
  assert.match(refused.stdout, /^✖ [0-9a-f-]{36} failed: .*refused/m);
});

test('a wait for launches ends at Ctrl-C', async () => {
  const interrupt = new AbortController();
  const waiting = poolWith({ interrupt: interrupt.signal }, 'provision', '--class', 'large', '--wait');
  await eventually(async () => (await world.store.list({}, { offset: 0, limit: 1 })).length === 1, 'it is planned');
  interrupt.abort();
  const { code } = await waiting;
  assert.equal(code, 130);
});

test('runners are released, drained and terminated', async () => {
  const [one, other] = await world.arrive(2);
  const both = (await pool('hold', '--class', 'large', '--count', '2', '--json')).json() as { id: string };
  const refused = await pool('release', one!);
  assert.deepEqual(
    [refused.code, refused.stderr.includes(`heddle pool release-hold ${both.id}`)],
    [1, true],
    refused.stderr,
  );
  assert.equal((await pool('release-hold', both.id)).code, 0);
  const single = (await pool('hold', '--class', 'large', '--json')).json() as { runners: { id: string }[] };
  assert.match((await pool('release', single.runners[0]!.id)).stdout, /^state +idle$/m);
  await pool('hold', '--class', 'large', '--count', '2');
  assert.match((await pool('drain', one!)).stdout, /^state +claimed, draining$/m);
  assert.match((await pool('terminate', other!)).stdout, /^reason +terminated by a user$/m);
  const released = await pool('release', other!);
  assert.deepEqual([released.code, /it has ended/.test(released.stderr)], [1, true]);
  assert.equal((await pool('drain', randomUUID())).code, 3);
  assert.equal((await pool('terminate', 'one')).code, 2);
});

test('runners are held for external work, and released', async () => {
  const [id] = await world.arrive();
  const held = await pool('hold', '--class', 'large', '--holder', 'build 7', '--tenant', 'acme', '--json');
  const request = held.json() as { id: string; state: string; runners: { id: string }[] };
  assert.deepEqual([held.code, request.state, request.runners.map((runner) => runner.id)], [0, 'granted', [id]]);
  const granted = await pool('requests', '--granted');
  assert.match(granted.lines[1]!, new RegExp(`^${request.id} +granted +1 × large, on-demand +acme +build 7 `));
  assert.match((await pool('request', request.id)).stdout, /^for +build 7$/m);
  assert.match((await pool('release-hold', request.id)).stdout, /^reason +released by its holder$/m);
  assert.equal((await pool('requests')).stdout, 'no matching requests\n');
  assert.equal((await pool('request', randomUUID())).code, 3);
  assert.equal((await pool('hold', '--class', 'lrge')).code, 2);
  assert.equal((await pool('hold', '--class', 'large', '--wait', 'long')).code, 2);
  assert.equal((await pool('hold')).code, 2);
});

test('missing runners are awaited, and the request outlives the wait', async () => {
  const id = randomUUID();
  const impatient = await pool('hold', '--class', 'large', '--count', '2', '--id', id, '--wait', '1s');
  assert.equal(impatient.code, 4);
  assert.match(impatient.stdout, /^state +waiting$/m);
  assert.match(impatient.stderr, new RegExp(`the request is still waiting; .*--id ${id}`));
  assert.match((await pool('requests')).lines[1]!, new RegExp(`^${id} +waiting +2 × large, on-demand `));
  const interrupt = new AbortController();
  const interrupted = poolWith({ interrupt: interrupt.signal }, 'hold', '--class', 'large', '--count', '2', '--id', id);
  interrupt.abort();
  assert.equal((await interrupted).code, 130);
  const patient = pool('hold', '--class', 'large', '--count', '2', '--id', id);
  await agentsSpeakUntil(async () => (await world.pool.request(id)).state === 'granted');
  const { code, stdout } = await patient;
  assert.equal(code, 0);
  assert.match(stdout, /^state +granted$/m);
  assert.equal(stdout.match(/ claimed /g)?.length, 2);
});

test('the pool is refreshed, and failures are reported', async () => {
  const done = await pool('refresh');
  assert.deepEqual([done.code, done.lines[0]], [0, 'the template was updated']);
  world.provider.broken = 'refresh';
  const failed = await pool('refresh');
  assert.equal(failed.code, 1);
  assert.match(failed.stderr, /^failed: .*cannot refresh now/m);
});
