import assert from 'node:assert/strict';

import { RemoteFailure } from '../../../src/protocol/codes.ts';
import type { SignedRequest } from '../../../src/protocol/envelope.ts';
import { XmlRpcReader } from '../../../src/xmlrpc/reader.ts';
import { readRequestStruct, readResponseStruct, requestStruct, responseStruct } from '../../../src/xmlrpc/structs.ts';
import { writeCall, writeFault, writeResponse } from '../../../src/xmlrpc/writer.ts';
import type { Random } from '@heddle/base/random';
import { below, mutate, pick, pieces, text } from './mutate.ts';

const DOCUMENT_BYTES_MAX = 64 * 1024;
const WORDS = [
  '<',
  '>',
  '</',
  '/>',
  '&',
  ';',
  '&lt;',
  '&#0;',
  '&#x110000;',
  '&x;',
  '<!DOCTYPE x [',
  '<!ENTITY a "b">',
  ']>',
  '<![CDATA[',
  ']]>',
  '<!--',
  '-->',
  '<?x',
  '?>',
  '<value>',
  '</value>',
  '<struct>',
  '<member>',
  '<name>',
  '<array><data>',
  '<base64>',
  '<int>',
  '="',
  "='",
  'xmlns=',
  '<?xml version="1.1"?>',
  '\ufeff',
  '\u0000',
];

/** Fuzzes documents: a reader must report MALFORMED, or the same result as for the whole document at once. */
export function fuzzDocument(random: Random): Buffer {
  const whole = Buffer.from(document(random));
  const sent = random.next() < 0.1 ? whole : mutate(whole, random, WORDS);
  const outcome = readAll([...pieces(sent, random)]);
  // The position of a fault may differ, but not the overall result.
  const atOnce = readAll([Buffer.from(sent)]);
  assert.equal(outcome.refused, atOnce.refused);
  if (!outcome.refused) assert.deepEqual(outcome, atOnce);
  return sent;
}

function document(random: Random): string {
  const request: SignedRequest = {
    key_id: text(random),
    timestamp_ms: below(random, 2 ** 40),
    nonce: text(random),
    client: text(random),
    audience: text(random),
    method: 'submit',
    payload: random.bytes(below(random, 60)),
    mac: random.bytes(32),
  };
  switch (below(random, 4)) {
    case 0:
      return writeResponse(responseStruct({ ...request, correlation_id: text(random), sequence: 0 }));
    case 1:
      return writeFault(below(random, 30), text(random));
    default:
      return writeCall(pick(random, ['heddle.submit', 'heddle.poll', text(random)]), requestStruct(request));
  }
}

interface Outcome {
  readonly refused: boolean;
  readonly said: unknown;
}

function readAll(chunks: readonly Buffer[]): Outcome {
  const reader = new XmlRpcReader({ document_bytes_max: DOCUMENT_BYTES_MAX });
  try {
    for (const chunk of chunks) reader.write(chunk);
    const read = reader.end();
    if (read.kind === 'call') return { refused: false, said: structOf(() => readRequestStruct('submit', read.params)) };
    if (read.kind === 'response')
      return { refused: false, said: structOf(() => readResponseStruct('submit', read.value)) };
    return { refused: false, said: read };
  } catch (error) {
    return { refused: true, said: faultOf(error) };
  }
}

function structOf(reading: () => unknown): unknown {
  try {
    return reading();
  } catch (error) {
    return faultOf(error);
  }
}

/** Nothing else may be thrown. */
function faultOf(error: unknown): unknown {
  if (error instanceof RemoteFailure && error.code === 'MALFORMED') return error.details;
  throw error;
}
