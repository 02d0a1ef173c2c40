import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import type { Chunk, Detection, Detector } from '../../src/detect/port.ts';
import type { ScannedSegment } from '../../src/detect/segment.ts';
import { detectorOf, scanObject } from '../support/detect/fixture.ts';
import { encoded, RULES, words } from '../support/detect/texts.ts';

interface Division {
  /** Bytes of a segment, and of what is scanned before it. */
  segmentBytes: number;
  leadBytes: number;
  chunkBytes: number;
}

interface Divided {
  found: Detection[];
  /** Segments that were taken over, and those that were not. */
  adopted: number;
  refused: number;
}

function chunkOf(detector: Detector, bytes: Uint8Array, from: number, at: number, to: number): Chunk {
  const start = Math.max(from, at - detector.overlap);
  return {
    bytes: bytes.subarray(start, to),
    length: to - start,
    prefix_length: at - start,
    base_offset: start,
    last: to === bytes.length,
  };
}

function scanSegment(detector: Detector, bytes: Uint8Array, start: number, division: Division): ScannedSegment | null {
  const { segmentBytes, leadBytes, chunkBytes } = division;
  const from = Math.max(0, start - leadBytes - detector.overlap) & ~1;
  const head = bytes.subarray(0, 64);
  const segment = detector.beginSegment({ path: 'src/app.ts' }, { from, start, head });
  const end = start + segmentBytes;
  for (let at = from; at < end;) {
    const to = Math.min(at + chunkBytes, at < start ? start : end);
    segment.scan(chunkOf(detector, bytes, from, at, to));
    at = to;
  }
  // Segments come from other threads.
  return structuredClone(segment.finish());
}

/** Scans each segment by itself, and takes over those that the object accepts. */
function scanDivided(detector: Detector, content: string | Uint8Array, division: Division): Divided {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  const object = detector.begin('src/app.ts')!;
  const divided: Divided = { found: [], adopted: 0, refused: 0 };
  const { segmentBytes, chunkBytes } = division;
  for (let at = 0; ;) {
    if (at > 0 && at % segmentBytes === 0 && at + segmentBytes < bytes.length) {
      const segment = scanSegment(detector, bytes, at, division);
      const found = segment === null ? null : object.adopt(segment);
      if (found === null) divided.refused += 1;
      else {
        divided.adopted += 1;
        divided.found.push(...found);
        at += segmentBytes;
        continue;
      }
    }
    const to = Math.min(at + chunkBytes, bytes.length, (Math.floor(at / segmentBytes) + 1) * segmentBytes);
    divided.found.push(...object.scan(chunkOf(detector, bytes, 0, at, to)));
    at = to;
    if (at === bytes.length) return divided;
  }
}

const plain = detectorOf(RULES, { decodeDepth: 0 });
const decoding = detectorOf(RULES, { decodeDepth: 2 });

const division = fc.record({
  segmentBytes: fc.integer({ min: 200, max: 8000 }).map((half) => half * 2),
  leadBytes: fc.integer({ min: 0, max: 30_000 }),
  chunkBytes: fc.integer({ min: 500, max: 30_000 }),
});

const together = { adopted: 0, refused: 0 };

function assertSame(detector: Detector, content: string | Uint8Array, how: Division): Divided {
  const divided = scanDivided(detector, content, how);
  const whole = scanObject(detector, content);
  assert.deepEqual(divided.found, whole);
  assert.equal(JSON.stringify(divided.found), JSON.stringify(whole), 'members in the same order');
  together.adopted += divided.adopted;
  together.refused += divided.refused;
  return divided;
}

test('segments that are scanned apart find what one scan finds, in the same order', () => {
  fc.assert(
    fc.property(fc.array(words, { maxLength: 200 }), division, (parts, how) => {
      assertSame(plain, parts.join(''), how);
    }),
    { numRuns: 40 },
  );
});

test('encoded text may cross any number of segments', () => {
  fc.assert(
    fc.property(fc.array(encoded, { maxLength: 200 }), division, (parts, how) => {
      assertSame(decoding, parts.join(''), how);
    }),
    { numRuns: 40 },
  );
});

test('segments of UTF-16 find what one scan finds', () => {
  fc.assert(
    fc.property(fc.array(encoded, { minLength: 1, maxLength: 60 }), division, fc.boolean(), (parts, how, marked) => {
      assertSame(decoding, Buffer.from(`${marked ? '\ufeff' : 'text '}${parts.join('')}`, 'utf16le'), how);
    }),
    { numRuns: 30 },
  );
});

test('in these texts, segments were both taken over and scanned again', () => {
  assert.ok(together.adopted > 100 && together.refused > 10, JSON.stringify(together));
});
