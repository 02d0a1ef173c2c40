import assert from 'node:assert/strict';
import { test } from 'node:test';

import { allows, type ScopeNeed } from '../../src/security/scopes.ts';

const CASES: readonly [readonly string[] | null, ScopeNeed, boolean][] = [
  [null, 'task:execute:Echo', true],
  [[], 'status:read', false],
  [['status:read'], 'status:read', true],
  [['status:read'], 'events:list', false],
  [['task:execute:Echo'], 'task:execute:Echo', true],
  [['task:execute:Echo'], 'task:execute:echo', false],
  [['task:execute:Echo'], 'task:execute:Echo2', false],
  [['task:execute:Echo*'], 'task:execute:Echo2', false],
  [['task:execute:*'], 'task:execute:Echo', true],
  [['task:execute:*'], 'task:poll', false],
  [['task:*'], 'task:poll', false],
  [['*'], 'task:execute:Echo', false],
  [['task:execute:'], 'task:execute:Echo', false],
  [['TASK:POLL', 'task:poll '], 'task:poll', false],
];

for (const [scopes, need, allowed] of CASES) {
  test(`${scopes === null ? 'without tokens' : JSON.stringify(scopes)} ${allowed ? 'allows' : 'does not allow'} ${need}`, () => {
    assert.equal(allows(scopes, need), allowed);
  });
}
