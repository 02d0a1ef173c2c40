import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';

import { REMOTE_CODES, type RemoteCode } from '../../src/protocol/codes.ts';
import { failureOfFault, faultString } from '../../src/xmlrpc/faults.ts';
import { readDocument, XmlRpcReader } from '../../src/xmlrpc/reader.ts';
import type { XmlRpcValue } from '../../src/xmlrpc/values.ts';
import { writeCall, writeFault, writeResponse } from '../../src/xmlrpc/writer.ts';
import { memoryInUse } from '../support/transports/healthy-client.ts';

interface Attack {
  readonly name: string;
  readonly repeat?: { readonly before: string; readonly text: string; readonly times: number };
}

const FLOODS = (
  JSON.parse(readFileSync(new URL('document-attacks.json', import.meta.url), 'utf8')) as readonly Attack[]
).filter(({ repeat }) => repeat !== undefined);

const LIMITS = { document_bytes_max: 100_000 };
const read = (text: string): ReturnType<typeof readDocument> => readDocument(Buffer.from(text), LIMITS);

describe('documents of XML-RPC', () => {
  it('are read as written', () => {
    const value = new Map<string, XmlRpcValue>([
      ['text', 'a <b> & "c" \r\n\t ]]> \u{1f600}'],
      ['empty', ''],
      ['number', -7],
      ['flag', true],
      ['bytes', Buffer.from([0, 255, 128])],
      ['list', ['x', 1, ['y']]],
      ['struct', new Map([['inner', 'z']])],
    ]);
    assert.deepEqual(read(writeCall('a.b', value)), { kind: 'call', method: 'a.b', params: [value] });
    assert.deepEqual(read(writeResponse(value)), { kind: 'response', value });
    assert.deepEqual(read(writeFault(3, 'X: y')), { kind: 'fault', code: 3, message: 'X: y' });
  });

  it('of Python are read, with base64 over several lines', () => {
    const text = `<?xml version='1.0'?>
      <methodCall>
      <methodName>heddle.submit</methodName>
      <params>
      <param>
      <value><struct>
      <member>
      <name>payload</name>
      <value><base64>
      eyJldmVudF9uYW1lIjog
      IkVjaG8ifQ==
      </base64></value>
      </member>
      </struct></value>
      </param>
      </params>
      </methodCall>
      `;
    const payload = Buffer.from('{"event_name": "Echo"}');
    assert.deepEqual(read(text), { kind: 'call', method: 'heddle.submit', params: [new Map([['payload', payload]])] });
  });

  it('contain nothing that XML cannot represent', () => {
    const said = read(writeFault(1, 'a\u0000b\ud800c\uffffd'));
    assert.deepEqual(said, { kind: 'fault', code: 1, message: 'a\ufffdb\ufffdc\ufffdd' });
  });
});

/** Incomplete documents, in the forms that hold the most memory per byte sent. */
const UNFINISHED: readonly [name: string, before: string, piece: string, times: number][] = [
  ['carriage returns', '<methodCall>', '\r', 16_000],
  ['brackets in CDATA', '<methodCall><methodName><![CDATA[', ']]x', 5_000],
  ['character references', '<methodCall><methodName>', '&#97;', 3_000],
  ['letters', '<methodCall><methodName>', 'a', 16_000],
  ['an entity', '<methodCall><methodName>&', 'a', 16_000],
  ['elements', '<methodCall><methodName>x</methodName><params>', '<param><value/></param>', 490],
  ['base64', '<methodCall><params><param><value><base64>', 'abcdefg', 30_000],
];

describe('incomplete documents', () => {
  for (const [name, before, piece, times] of UNFINISHED) {
    it(`hold no more memory than counted: ${name}`, () => {
      const text = Buffer.from(before + piece.repeat(times));
      const fill = (): XmlRpcReader => {
        const reader = new XmlRpcReader({ document_bytes_max: 1_000_000 });
        // Byte by byte, so that pieces share no memory.
        for (let at = 0; at < text.length; at += 1) reader.write(text.subarray(at, at + 1));
        return reader;
      };
      fill();
      const start = memoryInUse();
      const readers = Array.from({ length: 10 }, fill);
      const held = memoryInUse() - start;
      const counted = readers.reduce((sum, { heldBytes }) => sum + heldBytes, 0);
      assert.ok(held <= counted + 500_000, `${held} bytes held, ${counted} counted`);
      assert.ok(counted <= 10 * (text.length * 2 + 41 * 16_384 + 1_000_000), `${counted} counted`);
    });
  }

  it('are rejected before they hold much memory', () => {
    for (const { name, repeat } of FLOODS) {
      const flood = Buffer.from(repeat!.before + repeat!.text.repeat(repeat!.times));
      const reader = new XmlRpcReader({ document_bytes_max: 100_000_000 });
      let sent = 0;
      assert.throws(() => {
        for (; sent < flood.length; sent += 256) reader.write(flood.subarray(sent, sent + 256));
      }, name);
      assert.ok(sent <= 70_000, `${name}: rejected after ${sent} bytes`);
      assert.ok(reader.heldBytes <= 2_000_000, `${name}: ${reader.heldBytes} bytes held`);
    }
  });
});

describe('faults', () => {
  it('contain the code in their text', () => {
    const codes = Object.keys(REMOTE_CODES) as RemoteCode[];
    assert.equal(new Set(codes.map((code) => REMOTE_CODES[code].number)).size, codes.length);
    for (const code of codes) assert.equal(failureOfFault(faultString(code, 'why', ['x: y'])).code, code);
    assert.equal(failureOfFault('what: is this').code, 'INTERNAL');
    assert.equal(failureOfFault('constructor: x').code, 'INTERNAL');
  });
});
