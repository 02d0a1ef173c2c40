import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { WIRE_TYPES, wireTypes } from '../../scripts/build-wire-types.ts';

test('the types of the client are those of the schemas that the server validates by', async () => {
  const text = readFileSync(join(import.meta.dirname, '../..', WIRE_TYPES), 'utf8');
  assert.equal(text, await wireTypes(), 'run `node scripts/build-wire-types.ts`');
});
