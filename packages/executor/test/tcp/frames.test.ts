import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { appendFrame, FrameReader } from '../../src/tcp/frames.ts';

function frame(header: object, payload: Uint8Array): Buffer {
  const out: Uint8Array[] = [];
  const length = appendFrame(out, header, payload);
  const bytes = Buffer.concat(out);
  assert.equal(bytes.length, length);
  return bytes;
}

describe('frames', () => {
  it('have the documented bytes', () => {
    const bytes = frame({ id: 1 }, Buffer.from('{}'));
    assert.equal(bytes.toString('latin1'), '\0\0\0\x0e\0\0\0\x08{"id":1}{}');
    assert.equal(frame({ client: 'ü' }, Buffer.alloc(0)).toString('hex').slice(0, 16), '0000001300000' + '00f');
  });

  it('are found however they are split, without affecting earlier ones', () => {
    const payloads = [0, 1, 5_000, 70_000, 200_000].map((size, index) => Buffer.alloc(size, 0x41 + index));
    const stream = Buffer.concat(payloads.map((payload, id) => frame({ id }, payload)));
    for (const step of [1_000, 65_536, stream.length]) {
      const reader = new FrameReader(1_000_000);
      const found: Buffer[] = [];
      for (let at = 0; at < stream.length; at += step) {
        reader.push(Buffer.from(stream.subarray(at, at + step)));
        for (let next = reader.next(); next !== null; next = reader.next()) found.push(next.payload);
      }
      assert.deepEqual(found, payloads);
      assert.equal(reader.stage, 'idle');
      assert.equal(reader.buffered, 0);
    }
  });

  it('report the progress of the next one', () => {
    const bytes = frame({ id: 1 }, Buffer.from('{}'));
    const reader = new FrameReader(1_000);
    const stages = [reader.stage];
    for (const byte of bytes) {
      reader.push(Buffer.of(byte));
      stages.push(reader.stage);
    }
    assert.deepEqual(stages, ['idle', ...Array<string>(15).fill('header'), ...Array<string>(3).fill('payload')]);
  });

  it('in many small pieces take at most twice their bytes', () => {
    const reader = new FrameReader(8_000_000);
    const before = process.memoryUsage().arrayBuffers;
    const start = frame({ id: 1 }, Buffer.alloc(4_000_000)).subarray(0, 400_000);
    for (const byte of start) reader.push(Buffer.of(byte));
    assert.equal(reader.buffered, 400_000);
    assert.equal(reader.next(), null);
    assert.ok(process.memoryUsage().arrayBuffers - before < 20_000_000);
  });
});
