/** The limits on the page of the remote protocol, tried at each and one beyond. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { readAck, readPoll, readSubmit } from '@heddle/executor/internal/manager/request-fields';
import { readDocument } from '@heddle/executor/internal/xmlrpc/reader';
import { readPage } from '@heddle/test-support/docs/pages';

const page = readPage('docs/executors/protocol.md').text.replaceAll(/\s+/g, ' ');

/** The number at the group of a pattern. */
function stated(pattern: RegExp): number {
  const [, digits] = pattern.exec(page) ?? [];
  assert.ok(digits, `the page has ${String(pattern)}`);
  return Number(digits.replaceAll(',', ''));
}

function assertLimit(limit: number, read: (amount: number) => unknown): void {
  assert.doesNotThrow(() => read(limit));
  assert.throws(() => read(limit + 1), { code: 'MALFORMED' });
}

const call = (params: string): Buffer =>
  Buffer.from(`<methodCall><methodName>m</methodName><params>${params}</params></methodCall>`);
const read = (params: string): unknown => readDocument(call(params), { document_bytes_max: 1_000_000 });
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const submission = (more: object): unknown => readSubmit(json({ event_name: 'Echo', args: {}, ...more }));

test('of XML-RPC documents', () => {
  assertLimit(stated(/more than ([\d,]+) characters of text outside `base64`/), (characters) =>
    read(`<param><value>${'x'.repeat(characters - 'm'.length)}</value></param>`),
  );
  // Beside the three around them, each parameter has two elements, or three with its type.
  assertLimit(stated(/more than ([\d,]+) elements/), (elements) => {
    const typed = (elements - 3) % 2;
    const others = (elements - 3 - 3 * typed) / 2;
    return read(
      '<param><value><int>1</int></value></param>'.repeat(typed) + '<param><value>1</value></param>'.repeat(others),
    );
  });
  // A list adds three levels to the four around a value.
  const lists = Math.floor((stated(/nesting deeper than (\d+)/) - 4) / 3);
  const nested = (count: number): unknown =>
    read(
      `<param>${'<value><array><data>'.repeat(count)}<value>1</value>${'</data></array></value>'.repeat(count)}</param>`,
    );
  assertLimit(lists, nested);
});

test('of the members of requests', () => {
  assertLimit(stated(/`timeout_secs` \(above 0, at most ([\d,]+)/), (timeout_secs) => submission({ timeout_secs }));
  assert.throws(() => submission({ timeout_secs: 0 }), { code: 'MALFORMED' });
  assert.doesNotThrow(() => submission({ timeout_secs: 0.5 }));
  assertLimit(stated(/`idempotency_key` \(1 to (\d+) characters\)/), (characters) =>
    submission({ idempotency_key: 'k'.repeat(characters) }),
  );
  assert.throws(() => submission({ deadline_ms: 0.5 }), { code: 'MALFORMED' });
  assertLimit(stated(/`wait_secs`, 0 to (\d+)/), (wait_secs) =>
    readPoll(json({ correlation_id: 'id', wait_secs }), null),
  );
  assertLimit(stated(/`correlation_ids`, at most ([\d,]+)/), (count) =>
    readAck(json({ correlation_ids: Array.from({ length: count }, () => 'id') })),
  );
});

test('of the JSON of payloads', () => {
  const args = (text: string): unknown => readSubmit(Buffer.from(`{"event_name":"Echo","args":{"a":${text}}}`));
  assertLimit(stated(/more than (\d+) levels/), (levels) => args('['.repeat(levels - 2) + ']'.repeat(levels - 2)));
  const integer = stated(/integers beyond ±([\d,]+) that would lose digits/);
  assert.doesNotThrow(() => args(String(integer)));
  for (const text of [
    '9007199254740993',
    String.raw`"\u0000"`,
    String.raw`"\ud800"`,
    '{"b":1,"b":2}',
    '{"__proto__":1}',
  ])
    assert.throws(() => args(text), { code: 'MALFORMED' }, text);
  assert.match(page, /U\+0000 \(also escaped\), lone surrogates.*Floats such as `6\.02e23`/);
  assert.doesNotThrow(() => args('6.02e23'));
});
