import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import fc from 'fast-check';

import { HeddleError } from '../src/errors.ts';
import { MAX_JSON_DEPTH, parseStrictJson } from '../src/json/parse.ts';
import { scanJson } from '../src/json/scan.ts';

function refusal(text: string | Buffer, root = 'tasks'): HeddleError {
  try {
    parseStrictJson(Buffer.from(text as string), root);
  } catch (error) {
    assert.ok(error instanceof HeddleError, String(error));
    return error;
  }
  assert.fail(`taken: ${String(text)}`);
}

describe('strict JSON', () => {
  test('whatever JSON.stringify writes is read as JSON.parse reads it, indented or not', () => {
    const keys = fc.string().filter((key) => key !== '__proto__');
    const values = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        fc.string(),
        fc.integer(),
        fc.double({ min: -1e15, max: 1e15, noNaN: true }),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('value')),
        fc.dictionary(keys, tie('value')),
      ),
    })).value;
    fc.assert(
      fc.property(values, fc.constantFrom(undefined, 2, '\t'), (value, indent) => {
        const text = JSON.stringify(value, null, indent).replaceAll('\\u0000', 'x');
        assert.deepEqual(parseStrictJson(Buffer.from(text), ''), JSON.parse(text));
      }),
    );
  });

  test('a repeated member is named by its path, however it is spelled', () => {
    assert.deepEqual(refusal('[{"a":1},{"b":{"c":[{"x":1,"y":2,"x":3}]}}]').details, [
      'tasks[1].b.c[0].x: is given more than once in its object; keep one',
    ]);
    assert.deepEqual(refusal('{"name":1,"\\u006eame":2}', '').details, [
      'name: is given more than once in its object; keep one',
    ]);
    assert.deepEqual(refusal('{"a b":1, "a b" : 2}', 'metadata').details, [
      'metadata["a b"]: is given more than once in its object; keep one',
    ]);
    // Strings that look like members are none.
    assert.deepEqual(parseStrictJson(Buffer.from('{"a":"\\":\\"a\\":","b":"a:b"}'), ''), { a: '":"a":', b: 'a:b' });
  });

  test('what would be stored as something else is named', () => {
    const details = refusal(
      '[{"n":[9007199254740993,1e999],"t":"\\u0000","s":"\\ud83d","__proto__":1,"\\u0000":2}]',
    ).details;
    assert.deepEqual(
      details.map((detail) => detail.split(':')[0]),
      ['tasks[0].n[0]', 'tasks[0].n[1]', 'tasks[0].t', 'tasks[0].s', 'tasks[0].__proto__', 'tasks[0]["\\u0000"]'],
    );
    assert.deepEqual(parseStrictJson(Buffer.from('["\\ud83d\\ude00","\\\\u0000"]'), ''), ['😀', '\\u0000']);
  });

  test('depth is bounded before anything is built', () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
    assert.doesNotThrow(() => parseStrictJson(Buffer.from(nested(MAX_JSON_DEPTH)), ''));
    assert.match(refusal(nested(MAX_JSON_DEPTH + 1)).details[0]!, /^tasks\[0\].*: is nested deeper than 64 levels/);
    assert.match(refusal('{"a":'.repeat(1_000_000)).details[0]!, /nested deeper/);
  });

  test('an error names the position of malformed text', () => {
    const at = (text: string): string => refusal(text).details[0]!;
    assert.equal(at('[{"name": tru}]'), 'body: is not valid JSON at line 1, column 11');
    assert.equal(at('[1,\n 2,,3]'), 'body: is not valid JSON at line 2, column 4');
    assert.equal(at('[1'), 'body: is not valid JSON at line 1, column 3');
    assert.equal(at('{"a":1} x'), 'body: is not valid JSON at line 1, column 9');
    assert.equal(at('{"a":"\\x"}'), 'body: is not valid JSON at line 1, column 6');
    assert.match(at(''), /is empty/);
    assert.match(refusal(Buffer.from([0x22, 0xff, 0x22])).details[0]!, /not valid UTF-8/);
    assert.equal(refusal('{').code, 'MALFORMED_BODY');
  });

  test('members and depth are counted outside of strings only', () => {
    const { members, depth, hasUnicodeEscape } = scanJson(Buffer.from('{"a:{[":[{"b":"\\"}]:"}],"c":1}'));
    assert.deepEqual({ members, depth, hasUnicodeEscape }, { members: 3, depth: 3, hasUnicodeEscape: false });
  });

  test('many faults are bounded', () => {
    assert.equal(refusal(`[${'1e999,'.repeat(500)}1]`).details.length, 100);
  });
});

describe('a document of many small values', () => {
  const limits = { values: 1000, outermost: 100, names: 200 };
  const unlimited = { values: 1e9, outermost: 1e9, names: 1e9 };
  const many = (count: number, one: (index: number) => string): string =>
    Array.from({ length: count }, (_, i) => one(i)).join();

  test('is scanned up to a limit, and nothing of it is built', () => {
    const attacks: [exceeded: string, text: string, visited: number][] = [
      ['outermost', `[${many(5000, () => '{}')}]`, 202],
      ['values', `{"a":[${many(5000, () => '{}')}]}`, 1001],
      ['values', `{"a":[${many(5000, () => '1')}]}`, 1001],
      ['values', `{"a":${'['.repeat(5000)}`, 1001],
      ['names', `{"a":{${many(5000, (i) => `"k${i}":1`)}}}`, 210],
      ['names', `{"a":[${many(5000, (i) => `{"k${i}":1}`)}]}`, 420],
    ];
    for (const [exceeded, text, visited] of attacks) {
      const scan = scanJson(Buffer.from(text), limits);
      assert.equal(scan.exceeded, exceeded, text.slice(0, 20));
      assert.ok(scan.values <= visited, `${exceeded}: ${scan.values} values were visited`);
      assert.throws(() => parseStrictJson(Buffer.from(text), '', 1e6, limits), /Validation failed/);
    }
  });

  test('is taken up to the limits, whatever stands in its strings', () => {
    const strings = `[${many(100, () => '"a,b:{}[],\\",,,"')}]`;
    assert.equal(scanJson(Buffer.from(strings), limits).exceeded, null);
    const names = `{"a":[${many(150, () => `{${many(2, (i) => `"k${i}":1`)}}`)}]}`;
    assert.deepEqual(parseStrictJson(Buffer.from(names), '', 64, limits), JSON.parse(names));
  });

  test('counts no fewer values than there are, and about as many names', () => {
    const count = (value: unknown): number =>
      1 +
      (typeof value === 'object' && value !== null
        ? Object.values(value).reduce((n: number, v) => n + count(v), 0)
        : 0);
    fc.assert(
      fc.property(fc.json(), (text) => {
        assert.ok(scanJson(Buffer.from(text), unlimited).values >= count(JSON.parse(text)), text);
      }),
    );
    const { names } = scanJson(Buffer.from(`{${many(10_000, (i) => `"k${i}":{"same":1}`)}}`), unlimited);
    assert.ok(names > 9500 && names <= 10_001, `${names} of 10,001`);
  });
});
