import assert from 'node:assert/strict';

import { RemoteFailure } from '../../../src/protocol/codes.ts';
import { appendFrame, type Frame, FrameReader } from '../../../src/tcp/frames.ts';
import { HeaderFault, readRequest, readResponse, requestHeader, responseHeader } from '../../../src/tcp/header.ts';
import type { Random } from '@heddle/base/random';
import { below, mutate, pick, pieces, text } from './mutate.ts';

const FRAME_BYTES_MAX = 64 * 1024;
const WORDS = [
  '{',
  '}',
  '[',
  '"',
  '\\u0000',
  '"id":1,',
  '"mac":"",',
  '__proto__',
  'null',
  'true',
  '1e999',
  '-1',
  '\u0000\u0000\u0000\u0008',
];

/** Fuzzes frames: a reader must report MALFORMED, or the same result as for the whole stream at once. */
export function fuzzFrame(random: Random): Buffer {
  const frames: Uint8Array[] = [];
  for (let left = 1 + below(random, 3); left > 0; left -= 1) appendFrame(frames, header(random), payload(random));
  const whole = Buffer.concat(frames);
  const sent = random.next() < 0.1 ? whole : mutate(whole, random, WORDS);
  assert.deepEqual(readAll([...pieces(sent, random)]), readAll([Buffer.from(sent)]));
  return sent;
}

function header(random: Random): object {
  const fields = {
    key_id: text(random),
    timestamp_ms: pick(random, [0, -1, 1.5, 1_700_000_000_000, Number.MAX_SAFE_INTEGER]),
    nonce: text(random),
    client: text(random),
    audience: text(random),
    payload: new Uint8Array(0),
    mac: random.bytes(pick(random, [0, 1, 31, 32, 33])),
    method: pick(random, ['submit', 'poll', 'status'] as const),
  };
  const id = pick(random, [1, 2, 0, -1, 2 ** 32 - 1, 2 ** 32]);
  if (random.next() < 0.5)
    return requestHeader({ id, request: fields, token: null, traceparent: null, progress: true });
  return responseHeader({
    id,
    final: random.next() < 0.5,
    response: { ...fields, correlation_id: text(random), sequence: 0 },
  });
}

function payload(random: Random): Uint8Array {
  return Buffer.alloc(pick(random, [0, 0, 2, 100, 1_000]), below(random, 256));
}

/** Result of a stream: the frames as read by both sides, and how it ends. */
function readAll(chunks: readonly Buffer[]): unknown[] {
  const reader = new FrameReader(FRAME_BYTES_MAX);
  const found: unknown[] = [];
  let pushed = 0;
  try {
    for (const chunk of chunks) {
      reader.push(chunk);
      pushed += chunk.length;
      for (let frame = reader.next(); frame !== null; frame = reader.next())
        found.push(read(readRequest, frame), read(readResponse, frame), frame.payload.toString('latin1'));
      assert.ok(reader.buffered <= pushed);
    }
    found.push(reader.stage, reader.buffered);
  } catch (error) {
    found.push(faultOf(error));
  }
  return found;
}

function read(reading: (frame: Frame) => object, frame: Frame): string {
  try {
    // Copied immediately, because later reads must not change earlier results.
    return JSON.stringify(reading({ ...frame, payload: Buffer.alloc(0) }));
  } catch (error) {
    return JSON.stringify(faultOf(error));
  }
}

/** Nothing else may be thrown. */
function faultOf(error: unknown): unknown {
  const failure = error instanceof HeaderFault ? error.failure : error;
  if (failure instanceof RemoteFailure && failure.code === 'MALFORMED') return failure.details;
  throw error;
}
