import assert from 'node:assert/strict';
import { test } from 'node:test';

import { BufferPool } from '../../src/graph/buffer-pool.ts';
import type { ObjectReader } from '../../src/source/port.ts';
import { Division, type DividedObject, divisionMemory, type SegmentResult } from '../../src/worker/division.ts';
import { Openers } from '../../src/worker/openers.ts';
import { SegmentsAhead } from '../../src/worker/scan-ahead.ts';
import { detectorOf } from '../support/detect/fixture.ts';

const GIB = 1024 ** 3;
const CHUNK_BYTES = 16 * 1024;
const SEGMENT_BYTES = 64 * 1024;
const SEGMENTS_AHEAD = 6;

const RULES = "[[rules]]\nid = 'token'\nregex = '''MADEUP-\\d{6}'''\nkeywords = ['MADEUP-']\n";
const SECRET_AT = 100;
const PERIOD = 8192;
const TEXT = `${'word '.repeat(SECRET_AT / 5)}MADEUP-123456 `.padEnd(PERIOD - 1, 'line ').concat('\n');

/** An object of any size that repeats one text. */
function repeating(text: Buffer, size: number): ObjectReader {
  return {
    size,
    version: '1',
    access: 'range',
    read: (target, start, length, offset) => {
      assert.ok(offset >= 0 && offset + length <= size, `reads within the object, not at ${offset}`);
      const from = offset % text.length;
      return text.copy(target, start, from, Math.min(text.length, from + length));
    },
    close: () => undefined,
  };
}

/** Has the segments after one of them scanned ahead. */
async function scanAfter(passed: number, text: Buffer): Promise<SegmentResult[]> {
  const size = 6 * GIB;
  const detector = detectorOf(RULES);
  const results: SegmentResult[] = [];
  const reader = repeating(text, size);
  const ahead = new SegmentsAhead({
    detector,
    pool: new BufferPool({
      buffers_max: 1,
      buffer_bytes: CHUNK_BYTES + detector.overlap,
      allocate: (length) => detector.allocate(length),
    }),
    openers: new Openers([{} as never], () => ({ open: () => reader, close: () => undefined })),
    chunkBytes: CHUNK_BYTES,
    mark: () => undefined,
    deliver: (_, result) => results.push(result),
    isAborted: () => false,
  });
  const at = { index: 0, source: 0, path: 'src/app.ts', locator: '', commit: undefined, size, version: '1' };
  const memory = divisionMemory(size, SEGMENT_BYTES);
  const object: DividedObject = { ...at, segmentBytes: SEGMENT_BYTES, aheadMax: SEGMENTS_AHEAD, memory };
  const division = new Division(object);
  for (let segment = 0; segment <= passed; segment++) division.moveTo(segment);
  await ahead.help(object, () => true, false);
  assert.ok(!division.isComplete, 'a failed read ends the division');
  return results;
}

/** Offsets of the findings of scanned segments. */
function offsetsIn(results: readonly SegmentResult[]): number[] {
  const events = results.flatMap(({ scanned }) => scanned?.events ?? []);
  return events.flatMap((event) => (event.type === 'detection' ? [event.detection.offset] : []));
}

for (const encoding of ['latin1', 'utf16le'] as const) {
  test(`segments of large objects are scanned ahead wherever they are, in ${encoding}`, async () => {
    const text = Buffer.from(TEXT, encoding);
    const secretAt = SECRET_AT * (text.length / TEXT.length);
    for (const offset of [1, 2, 4, 5].map((count) => count * GIB)) {
      // The first of them is read from before the offset, the last one from behind it.
      const passed = offset / SEGMENT_BYTES - 2;
      const offsets = offsetsIn(await scanAfter(passed, text));
      const first = offsets[0]!;
      const start = (passed + 1) * SEGMENT_BYTES;
      // What the bytes behind a segment decide belongs to the next one.
      assert.ok(first > start - SEGMENT_BYTES && first < start + text.length, `${first} is not near ${start}`);
      assert.equal(first % text.length, secretAt);
      const count = (SEGMENTS_AHEAD * SEGMENT_BYTES) / text.length;
      assert.deepEqual(
        offsets,
        Array.from({ length: count }, (_, at) => first + at * text.length),
      );
    }
  });
}
