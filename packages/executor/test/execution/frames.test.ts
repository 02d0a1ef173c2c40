import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import fc from 'fast-check';

import { encodeFrame, encodeText, FrameReader } from '../../src/execution/child/frames.ts';

interface Read {
  readonly frames: (readonly [type: number, content: string])[];
  readonly breaches: (readonly [type: number, bytes: number])[];
}

function readAll(chunks: readonly Buffer[], contentBytesMax = 1_000): Read {
  const read: Read = { frames: [], breaches: [] };
  const reader = new FrameReader({
    contentBytesMax: () => contentBytesMax,
    onFrame: (type, content) => read.frames.push([type, content.toString('latin1')]),
    onBreach: (type, bytes) => read.breaches.push([type, bytes]),
  });
  for (const chunk of chunks) reader.push(chunk);
  return read;
}

function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return sorted.slice(1).map((end, index) => bytes.subarray(sorted[index], end));
}

describe('frames', () => {
  test('frames arrive as sent, however the stream is split', () => {
    const frame = fc.tuple(fc.nat(255), fc.uint8Array({ maxLength: 300 }));
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 20 }), fc.array(fc.nat(10_000), { maxLength: 30 }), (frames, places) => {
        const bytes = Buffer.concat(frames.map(([type, content]) => encodeFrame(type, content)));
        const { frames: arrived, breaches } = readAll(cutAt(bytes, places));
        assert.deepEqual(
          arrived,
          frames.map(([type, content]) => [type, Buffer.from(content).toString('latin1')]),
        );
        assert.deepEqual(breaches, []);
      }),
    );
  });

  test('no frame beyond the limit is delivered, and none after a breach', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 20 }), (chunks) => {
        const { frames, breaches } = readAll(
          chunks.map((chunk) => Buffer.from(chunk)),
          50,
        );
        assert.ok(frames.every(([, content]) => content.length <= 50));
        assert.ok(breaches.length <= 1);
      }),
      { numRuns: 2_000 },
    );
  });

  test('a length of zero or beyond the limit stops reading', () => {
    assert.deepEqual(readAll([Buffer.from([0, 0, 0, 0, 82])]).breaches, [[82, -1]]);
    const late = Buffer.concat([Buffer.from([255, 255, 255, 255, 82]), encodeFrame(1)]);
    assert.deepEqual(readAll([late]), { frames: [], breaches: [[82, 0xffff_fffe]] });
  });

  test('a text frame carries its serial', () => {
    const { frames } = readAll([encodeText(82, 7, 'ä')]);
    assert.deepEqual(frames, [[82, Buffer.from([0, 0, 0, 7, 0xc3, 0xa4]).toString('latin1')]]);
  });
});
