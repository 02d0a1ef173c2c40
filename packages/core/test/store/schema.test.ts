import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { renderSchema, SCHEMA_FILE } from '../../../../scripts/dump-schema.ts';
import { createTestDatabase } from '@heddle/test-support/postgres';

test('the schema that is committed is the one that the migrations make', async () => {
  const { database } = await createTestDatabase();
  const committed = readFileSync(join(import.meta.dirname, '../../../..', SCHEMA_FILE), 'utf8');
  assert.equal(await renderSchema(database), committed, `run \`node scripts/dump-schema.ts\` to write ${SCHEMA_FILE}`);
});
