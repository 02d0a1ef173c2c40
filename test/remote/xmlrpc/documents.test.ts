import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { REMOTE_CODES, type RemoteCode } from '../../../src/remote/protocol/codes.ts';
import { failureOfFault, faultString } from '../../../src/remote/xmlrpc/faults.ts';
import { readDocument } from '../../../src/remote/xmlrpc/reader.ts';
import type { XmlRpcValue } from '../../../src/remote/xmlrpc/values.ts';
import { writeCall, writeFault, writeResponse } from '../../../src/remote/xmlrpc/writer.ts';

const LIMITS = { document_bytes_max: 100_000 };
const read = (text: string): ReturnType<typeof readDocument> => readDocument(Buffer.from(text), LIMITS);

describe('documents of XML-RPC', () => {
  it('are read as they were written', () => {
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

  it('hold nothing that XML cannot say', () => {
    const said = read(writeFault(1, 'a\u0000b\ud800c\uffffd'));
    assert.deepEqual(said, { kind: 'fault', code: 1, message: 'a\ufffdb\ufffdc\ufffdd' });
  });
});

describe('faults', () => {
  it('say the code in their text', () => {
    const codes = Object.keys(REMOTE_CODES) as RemoteCode[];
    assert.equal(new Set(codes.map((code) => REMOTE_CODES[code].number)).size, codes.length);
    for (const code of codes) assert.equal(failureOfFault(faultString(code, 'why', ['x: y'])).code, code);
    assert.equal(failureOfFault('what: is this').code, 'INTERNAL');
    assert.equal(failureOfFault('constructor: x').code, 'INTERNAL');
  });
});
