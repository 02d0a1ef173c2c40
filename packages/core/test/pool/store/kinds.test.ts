/** Shapes and types: unused ones are deleted, and changed classes are applied to existing ones. */
import assert from 'node:assert/strict';
import { before, beforeEach, describe, test } from 'node:test';

import type { Database, Statement } from '../../../src/store/database.ts';
import { CLASSES } from '../../support/pool/store/fixture.ts';
import { emptyPool } from '../../support/pool/store/pool-books.ts';
import { many, newRequest, openField, seedIdle, storeOn } from '../../support/pool/store/seed.ts';

const COUNTS: Statement = {
  name: 'test.kinds',
  text: `select (select count(*)::integer from runner_tenant) as tenants, (select count(*)::integer from runner_shape) as shapes,
    (select count(*)::integer from runner_type) as types, (select count(*)::integer from runner_fit) as fits`,
};
const LATER = Date.now() + 3_600_000;

describe('shapes and types', () => {
  let database: Database;

  before(async () => {
    ({ database } = await openField());
  });
  beforeEach(() => emptyPool(database));
  const counts = async () => (await database.query<{ tenants: number; shapes: number; types: number }>(COUNTS))[0]!;

  test('unused ones are deleted, and processes that cached them can still send requests', async () => {
    const store = storeOn(database, {}, { unused_kept: 2 });
    const other = storeOn(database);
    const requests = many(12, (at) => newRequest({ types: [`t${at}.*`], tenant: `tenant ${at}` }));
    await store.ask(requests);
    const stays = newRequest({ types: ['stays.*'], tenant: 'stays' });
    await store.ask([stays]);
    for (const fields of [requests[0]!, stays]) await other.ask([{ ...fields, id: newRequest().id }]);
    await store.withdraw(
      (await store.waiting(100)).flatMap(({ tenant, id }) => (tenant === 'stays' ? [] : [id])),
      'over',
    );
    const full = await counts();
    assert.ok(full.shapes >= 13 && full.tenants >= 13, JSON.stringify(full));
    await store.forget(LATER, 1_000);
    const left = await counts();
    assert.equal(left.shapes, 1);
    // Two that are kept, the waiting one, and one whose rank is higher.
    assert.ok(left.tenants <= 4, `${left.tenants} tenants`);
    // A single cached request, several in a set, and a launch.
    const again = newRequest({ types: ['t0.*'], tenant: 'tenant 0' });
    await other.ask([again]);
    await other.ask(many(2, () => newRequest({ types: ['t0.*'], tenant: 'tenant 0' })));
    const [runner] = await seedIdle(database, ['t0.large']);
    const [grant] = await other.claimIdle(1);
    assert.deepEqual(
      grant?.runners.map(({ id }) => id),
      [runner],
    );
    assert.equal((await other.request(again.id))?.allowed_instance_types[0], 't0.*');
  });

  test('types without runners are deleted with their fits', async () => {
    const store = storeOn(database, {}, { unused_kept: 2 });
    await store.ask([newRequest()]);
    await seedIdle(
      database,
      many(6, (at) => `x${at}.large`),
    );
    await store.terminate(
      (await store.list({ ended: false }, { offset: 0, limit: 10 })).slice(1).map(({ id }) => id),
      'terminated by a user',
    );
    await store.forget(LATER, 1_000);
    const { types } = await counts();
    assert.equal(types, 1);
  });

  test('after a class changed, mismatching runners are drained, and their types return with the old class', async () => {
    const [large, ...others] = CLASSES;
    const store = storeOn(database);
    const [idle, held] = await seedIdle(database, ['a.large', 'a.large']);
    const first = newRequest();
    await store.ask([first]);
    const [grant] = await store.claimIdle(1);
    const [busy, free] = grant!.runners[0]!.id === held ? [held, idle] : [idle, held];
    assert.equal(await store.refit(), 0);
    const changed = storeOn(database, {}, { classes: [{ ...large!, cpu: large!.cpu * 2 }, ...others] });
    assert.equal(await changed.refit(), 2);
    const stateOf = async (id: string): Promise<string> => {
      const [row] = await store.list({ ids: [id] }, { offset: 0, limit: 1 });
      return `${row!.state} ${row!.draining} ${row!.reason}`;
    };
    assert.equal(await stateOf(free!), 'terminated false its class has changed');
    assert.equal(await stateOf(busy!), 'claimed true its class has changed');
    const [late] = await seedIdle(database, ['a.large']);
    await changed.ask([newRequest()]);
    assert.deepEqual(await changed.claimIdle(1), []);
    assert.equal(await storeOn(database).refit(), 0);
    assert.equal((await store.claimIdle(1))[0]?.runners[0]?.id, late);
  });
});
