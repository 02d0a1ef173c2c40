import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { REMOTE_CODES } from '@heddle/executor/protocol/codes';
import { REMOTE_METHODS } from '@heddle/executor/protocol/messages';
import { readPage, ROOT, tableRows } from '@heddle/test-support/docs/pages';

const page = readPage('docs/executors/protocol.md');

test('the table of codes matches the catalogue, word for word', () => {
  const rows = tableRows(page).filter(
    ([first, number]) => /^`[A-Z_]+`$/.test(first ?? '') && /^\d+$/.test(number ?? ''),
  );
  assert.deepEqual(
    rows.map(([code, number, again, title, http]) => [code, Number(number), again, title, Number(http)]),
    Object.entries(REMOTE_CODES).map(([code, { number, retryable, title, status }]) => {
      return [`\`${code}\``, number, retryable ? 'yes' : 'no', title, status];
    }),
  );
});

test('the table of requests has every method', () => {
  const first = tableRows(page).map(([cell]) => cell);
  for (const method of REMOTE_METHODS) assert.ok(first.includes(`\`${method}\``), method);
});

test('the gRPC service is the one that is served, without its comments', () => {
  const shown = /```proto\n([^]*?)```/.exec(text())?.[1];
  const served = readFileSync(join(ROOT, 'packages/executor/src/grpc/heddle-remote.proto'), 'utf8');
  assert.equal(shown, served.replaceAll(/^ *\/\/.*\n/gm, ''));
});

interface Vector {
  direction: 'request' | 'response';
  secret: string;
  fields: Record<string, string | number>;
  payload_hex: string;
  mac_hex: string;
}

test('the test vectors of the page are those of the code', () => {
  const file = join(ROOT, 'packages/executor/test/protocol/mac-vectors.json');
  const { vectors } = JSON.parse(readFileSync(file, 'utf8')) as { vectors: Vector[] };
  const shown = [...text().matchAll(/```text\nsecret {10}([^]*?)```/g)].map(([, block]) => block!);
  assert.equal(shown.length, 3);
  for (const block of shown) {
    const mac = /^mac {13}([0-9a-f]{64})$/m.exec(block)?.[1];
    const vector = vectors.find(({ mac_hex }) => mac_hex === mac);
    assert.ok(vector, `no vector has the MAC ${mac}`);
    assert.ok(block.startsWith(vector.secret));
    for (const [name, value] of Object.entries(vector.fields)) {
      assert.ok(block.includes(`\n${name.padEnd(16)}${value}\n`), `${name} ${value}`);
    }
    assert.ok(block.includes(`\npayload         ${Buffer.from(vector.payload_hex, 'hex').toString()}\n`));
    const names = ['key_id', 'timestamp_ms', 'nonce', 'client', 'audience', 'method', 'correlation_id', 'sequence'];
    const texts = names.flatMap((name) => (name in vector.fields ? [String(vector.fields[name])] : []));
    const parts = ['heddle-remote-v1', vector.direction, ...texts].map((part) => Buffer.from(part));
    const bytes = [...parts, Buffer.from(vector.payload_hex, 'hex')].flatMap((part) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(part.length);
      return [length, part];
    });
    assert.ok(block.includes(`\nbytes           ${Buffer.concat(bytes).toString('hex')}\n`));
  }
});

function text(): string {
  return readFileSync(join(ROOT, 'docs/executors/protocol.md'), 'utf8');
}
