import assert from 'node:assert/strict';
import { test } from 'node:test';

import { fingerprintOf } from '../../src/fingerprint.ts';
import { detectorOf, scanObject } from '../support/detect/fixture.ts';

const VALUES = ['first', 'second', 'third', 'fourth', 'fifth'].map((word) =>
  Buffer.from(`${word} value of ${word.length * 7919}`).toString('base64'),
);
const lines = VALUES.map((value, index) => `  key-${index}: ${value}\n`).join('');
const registry = (host: string, auth: string): string => `"${host}": { "email": "a@b.test", "auth": "${auth}" }`;
const builtin = detectorOf();

/** Rule and line of each value found. */
function found(text: string): string[] {
  const all = scanObject(builtin, text).filter(({ secret }) => VALUES.includes(secret));
  return all.map(({ rule_id, line, secret }) => `${rule_id}:${line}:${VALUES.indexOf(secret)}`);
}

test('each value of a Kubernetes secret is a separate finding on its line', () => {
  const expected = VALUES.map((_, index) => `kubernetes-secret-value:${index + 6}:${index}`);
  const manifest = `apiVersion: v1\nkind: Secret\nmetadata:\n  name: shop\ndata:\n${lines}type: Opaque\n`;
  assert.deepEqual(found(manifest), expected);
  const split = lines.replace('  key-3', 'stringData:\n  key-3');
  assert.equal(found(`kind: Secret\ndata:\n${split}`).length, 5);
  const exported = `apiVersion: v1\ndata:\n${lines}kind: Secret\nmetadata:\n  name: shop\n`;
  assert.deepEqual(
    found(exported),
    VALUES.map((_, index) => `kubernetes-secret-export:${index + 3}:${index}`),
  );
});

test('values of another manifest after a secret are not part of it', () => {
  const next = `---\nkind: ConfigMap\ndata:\n${lines}`;
  const ofSecret = found(`kind: Secret\ndata:\n  a: b\n${next}`).filter((each) => each.startsWith('kubernetes'));
  assert.deepEqual(ofSecret, []);
});

test('each registry of a Docker configuration is a separate finding', () => {
  const entries = VALUES.slice(0, 3).map((value, index) => registry(`r${index}.test`, value));
  const expected = [0, 1, 2].map((index) => `docker-config-auth:${index + 1}:${index}`);
  assert.deepEqual(found(`{ "auths": { ${entries.join(',\n')} }, "credsStore": "" }`), expected);
});

test('a value added to a block is new for a baseline that knows the others', () => {
  const fingerprints = (text: string): Set<string> =>
    new Set(scanObject(builtin, text).map(({ rule_id, secret }) => fingerprintOf(rule_id, 'a.yaml', secret)));
  const all = `kind: Secret\ndata:\n${lines}`;
  const known = fingerprints(all.replace(/ {2}key-4.*\n/, ''));
  const added = [...fingerprints(all)].filter((each) => !known.has(each));
  assert.equal(added.length, 1);
});

test('custom rules have blocks too; secretGroup refers to `each`', () => {
  const rule = (group: number): string =>
    [
      '[[rules]]',
      'id = "env"',
      "regex = '''secrets:(?:\\n .*)+'''",
      "each = '''(\\w+)=(\\w+)'''",
      `secretGroup = ${group}`,
    ].join('\n');
  const text = 'secrets:\n a=one\n b=two\nc=three\n';
  assert.deepEqual(
    scanObject(detectorOf(rule(2)), text).map(({ secret, line }) => [secret, line]),
    [
      ['one', 2],
      ['two', 3],
    ],
  );
  assert.throws(() => detectorOf(rule(3)), /secretGroup is 3, but its each has 2 groups/);
  assert.throws(() => detectorOf('[[rules]]\nid = "x"\npath = "a"\neach = "b"\n'), /it has each, but no regex/);
});
