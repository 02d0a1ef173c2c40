import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { ownPath } from '../../../src/http/access/login-attempts.ts';

const ORIGIN = 'http://heddle.example';

test('a path to come back to is one of this server', () => {
  for (const path of ['/', '/jobs', '/view?workflow=1&x=%2F%2Fa#t', '/a//b', '/%2e%2e/x']) {
    assert.equal(ownPath(path), new URL(path, ORIGIN).href.slice(ORIGIN.length));
  }
  const foreign = [
    '//evil',
    '/\\evil',
    '\\\\evil',
    'https://evil',
    'evil',
    '',
    '/.//evil',
    '/a/..//evil',
    '/\t/evil',
    '/ /x',
  ];
  for (const path of [...foreign, '/login/oidc', `/${'x'.repeat(3_000)}`, undefined]) assert.equal(ownPath(path), '/');
});

test('whatever is asked for, a browser stays on this server', () => {
  const pieces = fc.constantFrom(
    '/',
    '\\',
    '.',
    '..',
    '//',
    ':',
    '@',
    '\t',
    '\n',
    '%',
    '%2f',
    'evil.test',
    'javascript:',
    '?',
    '#',
    ' ',
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(pieces, fc.string({ maxLength: 3 })), { maxLength: 10 }), (parts) => {
      const path = ownPath(`/${parts.join('')}`);
      assert.equal(new URL(path, `${ORIGIN}/login/oidc/callback`).origin, ORIGIN);
      assert.equal(new URL(path, 'https://other.example/').origin, 'https://other.example');
    }),
  );
});
