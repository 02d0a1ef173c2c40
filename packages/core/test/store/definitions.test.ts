import assert from 'node:assert/strict';
import { test } from 'node:test';

import { VirtualClock } from '@heddle/base/clock';
import { DefinitionStore } from '../../src/store/definitions.ts';
import { createTestDatabase } from '@heddle/test-support/postgres';

test('definitions are stored, replaced, found by type and name, and removed', async () => {
  const { database } = await createTestDatabase();
  const clock = new VirtualClock();
  const definitions = new DefinitionStore({ database, clock });
  await definitions.put('rule', 'b', { max: 1 });
  await clock.advance(1000);
  const replaced = await definitions.put('rule', 'b', { max: 2, list: [1, null] });
  assert.deepEqual(replaced, { name: 'b', body: { max: 2, list: [1, null] }, updated_at: clock.now() });
  await definitions.put('rule', 'a', {});
  await definitions.put('action', 'b', { other: true });
  assert.deepEqual(
    (await definitions.list('rule')).map(({ name }) => name),
    ['a', 'b'],
  );
  const found = await definitions.find('rule', ['b', 'none']);
  assert.deepEqual([...found.entries()], [['b', replaced]]);
  assert.equal(await definitions.remove('rule', 'b'), true);
  assert.equal(await definitions.remove('rule', 'b'), false);
  assert.equal((await definitions.find('action', ['b'])).size, 1);
});
