import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';

import { Redactor } from '../src/redactor.ts';

const secretText = fc
  .string({ unit: 'binary', minLength: 6, maxLength: 60 })
  .filter((text) => text.trim() === text && !/[\n\r]/.test(text));
const around = fc.string({ unit: 'grapheme', maxLength: 20 });

test('no encoding of a text that contains a secret still contains it', () => {
  fc.assert(
    fc.property(secretText, around, around, (secret, before, after) => {
      const redactor = new Redactor([secret]);
      const text = `${before}${secret}${after}`;
      assert.ok(!redactor.text(text).includes(secret));
      assert.ok(!JSON.stringify(redactor.json({ [secret]: [text] })).includes(JSON.stringify(secret).slice(1, -1)));
      assert.ok(
        !redactor.text(encodeURIComponent(text.toWellFormed())).includes(encodeURIComponent(secret.toWellFormed())),
      );
    }),
    { numRuns: 500 },
  );
});

test('base64 is found at every position, also with its URL alphabet', () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 8, maxLength: 60 }),
      fc.string({ maxLength: 9 }),
      around,
      (secret, before, after) => {
        fc.pre(secret.trim() === secret);
        const redactor = new Redactor([secret]);
        for (const encoding of ['base64', 'base64url'] as const) {
          const encoded = Buffer.from(`${before}${secret}${after}`).toString(encoding);
          assert.ok(redactor.text(encoded).includes('***'), encoded);
        }
      },
    ),
    { numRuns: 500 },
  );
});

test('every line of a secret of several lines is replaced by itself', () => {
  const key = '-----BEGIN KEY-----\nMIIEowIBAAKCAQEA\r\nqwertyuiop\n-----END KEY-----\n';
  const redactor = new Redactor([key]);
  assert.equal(redactor.text('a qwertyuiop b'), 'a *** b');
  assert.equal(redactor.text(`<${key}>`), '<***>');
});

test('other text stays as it is, and short lines are no secrets', () => {
  const redactor = new Redactor(['a.b*c', 'x\nlonger']);
  assert.equal(redactor.text('aXbbc a.b*c x longer'), 'aXbbc *** x ***');
  assert.deepEqual(redactor.json({ n: 1, b: true, z: null, l: ['a.b*c'] }), { n: 1, b: true, z: null, l: ['***'] });
  assert.equal(new Redactor([]).text('as it is'), 'as it is');
});

test('credentials behind the scheme of a header are a secret of their own', () => {
  const redactor = new Redactor(['Bearer tok-123', 'bearer of news']);
  assert.equal(
    redactor.text('Bearer tok-123 tok-123 Bearer x; bearer of news, of news'),
    '*** *** Bearer x; ***, of news',
  );
});
