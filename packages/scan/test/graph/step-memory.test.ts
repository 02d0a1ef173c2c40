import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

const QUEUED_STEPS = new URL('../support/graph/queued-steps.ts', import.meta.url).pathname;
const STEPS = 1_000_000;

/** Heap bytes as stated in docs/scanning/secrets.md; `object` is the share of a step's object. */
const BYTES_MAX = { fetch_sync: 128, scan: 208, enumerate: 208, object: 208 };

test('a queued step takes little memory, however many there are', (t) => {
  const printed = execFileSync(process.execPath, ['--expose-gc', QUEUED_STEPS, String(STEPS)], { encoding: 'utf8' });
  t.diagnostic(printed);
  const figures = JSON.parse(printed) as typeof BYTES_MAX;
  for (const kind of Object.keys(BYTES_MAX) as (keyof typeof BYTES_MAX)[]) {
    const bytes = figures[kind];
    assert.ok(bytes > 16, `${kind}: ${bytes} bytes: the steps were gone when they were measured`);
    assert.ok(bytes <= BYTES_MAX[kind], `${kind}: ${bytes} bytes, more than ${BYTES_MAX[kind]}`);
  }
});
