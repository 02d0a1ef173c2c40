/** The benchmarks of scans use built-in rules by their names and patterns, both of which change. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { makeSecrets } from '../../bench/src/scan/planted-secrets.ts';
import { PseudoRandom } from '../../bench/src/scan/pseudo-random.ts';
import { writeRuleSet } from '../../bench/src/scan/rule-sets.ts';

test('every planted secret has its rule among the seven simple ones, whose pattern finds it', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'heddle-rule-sets-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const { path, regexes } = writeRuleSet(directory, 7);
  const written = readFileSync(path, 'utf8');
  const secrets = makeSecrets(new PseudoRandom(1));
  const formats = new Set<string>();
  for (let made = 0; made < 70; made += 1) {
    const { rule_id, secret } = secrets.next().value;
    formats.add(rule_id);
    assert.ok(written.includes(`id = "${rule_id}"`), rule_id);
    assert.ok(
      regexes.some((regex) => new RegExp(regex).test(secret)),
      rule_id,
    );
  }
  assert.equal(formats.size, 7);
  assert.equal(writeRuleSet(directory, 221).rules, 221);
});
