import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isUuid, uuidV7Generator } from '@heddle/base/ids';

const noise = (into: Uint8Array): void => into.forEach((_, at) => (into[at] = (at * 151 + 7) & 0xff));

test('ids are UUIDs of version 7 and variant 10 that carry the clock', () => {
  const id = uuidV7Generator(() => 0x0123_4567_89ab, noise)();
  assert.match(id, /^01234567-89ab-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.ok(isUuid(id));
});

test('ids of one generator grow strictly, whatever the clock does', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -5, max: 5 }), { maxLength: 500 }), (drifts) => {
      let now = 1_700_000_000_000;
      const newId = uuidV7Generator(() => now, noise);
      let last = newId();
      for (const drift of drifts) {
        now += drift;
        const id = newId();
        assert.ok(id > last, `${id} after ${last}`);
        last = id;
      }
    }),
  );
});

test('more than 4,096 ids of one millisecond borrow the next one', () => {
  const newId = uuidV7Generator(() => 1_700_000_000_000, noise);
  let last = newId();
  for (let n = 0; n < 10_000; n += 1) {
    const id = newId();
    assert.ok(id > last && isUuid(id));
    last = id;
  }
});

test('isUuid takes nothing but the canonical form', () => {
  const id = '018bcfe5-6800-7001-9459-1c51e4c92cc1';
  assert.ok(isUuid(id) && isUuid(id.toUpperCase()));
  for (const text of ['', ` ${id}`, `${id}\n`, `{${id}}`, id.replaceAll('-', ''), id.replace('0', 'g')]) {
    assert.equal(isUuid(text), false, JSON.stringify(text));
  }
});
