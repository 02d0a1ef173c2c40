import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { canonicalJson, mergePatch } from '@heddle/base/json';
import type { JsonValue } from '@heddle/base/json';

const anyJson = fc.jsonValue() as fc.Arbitrary<JsonValue>;

// The test cases of RFC 7396, appendix A: target, patch, result.
const RFC_7396: [JsonValue, JsonValue, JsonValue][] = [
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'b' }, ['c'], ['c']],
  [{ a: 'foo' }, null, null],
  [{ a: 'foo' }, 'bar', 'bar'],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
];

test('mergePatch gives the results of RFC 7396', () => {
  for (const [target, patch, result] of RFC_7396) {
    assert.deepEqual(mergePatch(target, patch), result, JSON.stringify([target, patch]));
  }
});

test('mergePatch leaves its arguments alone, and a repeat changes nothing', () => {
  fc.assert(
    fc.property(anyJson, anyJson, (target, patch) => {
      const before = JSON.stringify([target, patch]);
      const once = mergePatch(target, patch);
      assert.equal(JSON.stringify([target, patch]), before);
      assert.equal(canonicalJson(mergePatch(once, patch)), canonicalJson(once));
    }),
  );
});

test('a patch reaches no prototype', () => {
  const patch = JSON.parse(
    '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
  ) as JsonValue;
  const merged = mergePatch({ kept: 1 }, patch) as Record<string, unknown>;
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
  assert.equal(merged['polluted'], undefined);
  assert.equal(Object.getPrototypeOf(merged), Object.prototype);
  assert.ok(Object.hasOwn(merged, '__proto__') && Object.hasOwn(merged, 'constructor'));
  const removed = mergePatch(merged as JsonValue, JSON.parse('{"__proto__":null}') as JsonValue);
  assert.equal(Object.hasOwn(removed as object, '__proto__'), false);
  assert.equal((removed as Record<string, unknown>)['kept'], 1);
});

test('a member named like an inherited one merges as an absent one', () => {
  assert.deepEqual(mergePatch({}, { toString: { a: 1 } }), { toString: { a: 1 } });
});

test('canonicalJson is one text for equal values, whatever the order of their keys', () => {
  const reversed = (value: JsonValue): JsonValue => {
    if (Array.isArray(value)) return value.map(reversed);
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(
      Object.entries(value)
        .toReversed()
        .map(([key, member]) => [key, reversed(member)]),
    );
  };
  fc.assert(fc.property(anyJson, (value) => assert.equal(canonicalJson(reversed(value)), canonicalJson(value))));
});

test('canonicalJson reads back as the value it was made of', () => {
  fc.assert(
    fc.property(anyJson, (value) => {
      const text = canonicalJson(value);
      assert.equal(canonicalJson(JSON.parse(text) as JsonValue), text);
      assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)));
    }),
  );
  assert.equal(canonicalJson({ b: 1, a: { d: [], c: null } }), '{"a":{"c":null,"d":[]},"b":1}');
});
