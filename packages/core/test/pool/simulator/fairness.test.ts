import assert from 'node:assert/strict';
import { test } from 'node:test';

import { MemoryRunnerStore } from '@heddle/test-support/pool/memory-store/memory-store';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { emptyStore } from '../../support/pool/store/empty-store.ts';
import { Yard } from '../../support/pool/store/fixture.ts';
import { jain, shares } from '../../support/pool/simulator/fairness.ts';

test('a hundred tenants with very different numbers of requests get equal shares, in memory', async () => {
  const yard = await Yard.open((settings) => Promise.resolve(new MemoryRunnerStore(settings)));
  const index = jain(await shares(yard, { tenants: 100, runners: 40, rounds: 60 }));
  assert.ok(index >= 0.95, `${index}`);
});

test('a hundred tenants with very different numbers of requests get equal shares, in PostgreSQL', async (t) => {
  const { database } = await createTestDatabase({ maxSize: 2 });
  const yard = await Yard.open((settings) => emptyStore(database, settings));
  const index = jain(await shares(yard, { tenants: 100, runners: 40, rounds: 30 }));
  t.diagnostic(`Jain's index ${index.toFixed(3)}`);
  assert.ok(index >= 0.95, `${index}`);
});
