import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { test } from 'node:test';

import { Spool } from '../../src/report/spool.ts';
import { Written } from '../support/report/fixture.ts';

for (const limit of [0, 10, 1_000_000]) {
  test(`writes everything back in order, with ${limit} characters in memory`, () => {
    const spool = new Spool(limit);
    const texts = Array.from({ length: 3000 }, (_, index) => `${index} grüße 😀 ${'x'.repeat(index % 50)}\n`);
    for (const text of texts) spool.write(text);
    assert.equal(spool.isEmpty, false);
    const written = new Written();
    spool.drainTo(written);
    assert.ok(written.text === texts.join(''));
    assert.equal(spool.isEmpty, true);
  });
}

test('its file has no name while it is in use', () => {
  const spool = new Spool(1);
  spool.write('what was found');
  assert.deepEqual(
    readdirSync(tmpdir()).filter((name) => name.startsWith('heddle-report-')),
    [],
  );
  spool.close();
});
