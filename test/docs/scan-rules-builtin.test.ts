import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { RULES_PAGE, renderRulesPage } from '../../scripts/build-rules-page.ts';
import { ROOT } from '@heddle/test-support/docs/pages';

test('the page of built-in rules matches the rules', () => {
  const written = readFileSync(join(ROOT, RULES_PAGE), 'utf8');
  assert.ok(written === renderRulesPage(), `run node scripts/build-rules-page.ts: ${RULES_PAGE} is out of step`);
});
