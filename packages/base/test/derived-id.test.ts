import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { derivedId } from '../src/derived-id.ts';
import { newId } from '../src/random.ts';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('ids of what another node made', () => {
  it('are the same for the same maker and part, forever', () => {
    const maker = '018f0000-0000-7000-8000-000000000001';
    assert.equal(derivedId(maker, { ordinal: 0 }), derivedId(maker.toUpperCase(), { ordinal: 0 }));
    // Stored ids depend on it: a change here makes generators that run again create everything twice.
    assert.equal(derivedId(maker, { ordinal: 0 }), '018f0000-0000-762e-ae9b-c0da2213f2c9');
    assert.equal(derivedId(maker, { key: 'host-1' }), '018f0000-0000-7cb4-a9bb-b30bd72154be');
  });

  it('are UUIDv7 of the maker’s own time', () => {
    for (let n = 0; n < 100; n += 1) {
      const maker = newId();
      const id = derivedId(maker, { ordinal: n });
      assert.match(id, UUID_V7);
      assert.equal(id.slice(0, 13), maker.slice(0, 13));
    }
  });

  it('differ by maker, ordinal and key; a key that is a number is no ordinal', () => {
    const [one, other] = [newId(), newId()];
    const ids = new Set<string>();
    for (const maker of [one, other]) {
      for (let n = 0; n < 10_000; n += 1)
        ids.add(derivedId(maker, { ordinal: n })).add(derivedId(maker, { key: String(n) }));
    }
    assert.equal(ids.size, 40_000);
  });

  it('are made of UUIDs only', () => {
    assert.throws(() => derivedId('generator-1', { ordinal: 0 }), TypeError);
  });
});
