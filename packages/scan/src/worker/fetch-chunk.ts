import { bytesText } from '../archive/context.ts';
import { STUB_BYTES_MAX } from '../archive/embedded.ts';
import type { BufferHandle } from '../graph/buffer-pool.ts';
import type { StepResult } from '../graph/executor.ts';
import type { FetchSyncStep } from '../graph/step.ts';
import { ObjectFault, type ObjectReader } from '../source/port.ts';
import type { ArchiveListing } from './archive-listing.ts';
import type { ScanContext } from './context.ts';
import { readingOf, type ObjectReading } from './object-reading.ts';
import { unopenedEmbedded, unsupported } from './problem.ts';
import { SegmentJoiner } from './segment-joiner.ts';
import { headOf } from './segment-source.ts';

type Result = StepResult<ArchiveListing> | Promise<StepResult<ArchiveListing>>;

/** Bytes read of an object to which no rule applies: enough to detect an archive. */
const HEAD_BYTES = 4096;

/** Handles FetchSync steps: opens the object before its first chunk, reads the chunk, and passes it to a Scan step. */
export class ChunkFetcher {
  readonly #context: ScanContext;
  readonly #joiner: SegmentJoiner;

  constructor(context: ScanContext) {
    this.#context = context;
    this.#joiner = new SegmentJoiner(context);
  }

  fetchSync(step: FetchSyncStep): Result {
    const reading = readingOf(step.object);
    this.#context.mark(reading);
    if (reading.fault !== null) return this.#context.finish(step.object);
    if (reading.root.isFull || !this.#context.pool.hasFree) return step;
    const { segments } = reading;
    if (segments?.boundary === step.offset) {
      const joined = this.#joiner.join(step, reading, segments);
      if (joined !== undefined) return joined;
    }
    return reading.reader === null ? this.#openThenRead(step, reading) : this.#read(step, reading);
  }

  #openThenRead(step: FetchSyncStep, reading: ObjectReading): Result {
    const { detector, limits, finish } = this.#context;
    if (reading.detector === undefined) reading.detector = detector.begin(reading.path, reading.root.commit?.id);
    if (reading.detector === null && !limits.archives.enabled) return finish(step.object);
    let opening: ObjectReader | Promise<ObjectReader>;
    try {
      opening = reading.entry === null ? reading.root.opener.open(reading.root) : reading.entry.open();
    } catch (error) {
      reading.fault = error;
      return finish(step.object);
    }
    return opening instanceof Promise
      ? this.#awaitOpening(step, reading, opening)
      : this.#opened(step, reading, opening);
  }

  async #awaitOpening(
    step: FetchSyncStep,
    reading: ObjectReading,
    opening: Promise<ObjectReader>,
  ): Promise<StepResult<ArchiveListing>> {
    let reader: ObjectReader;
    try {
      reader = await opening;
    } catch (error) {
      reading.fault = error;
      return this.#context.finish(step.object);
    }
    return this.#opened(step, reading, reader);
  }

  #opened(step: FetchSyncStep, reading: ObjectReading, reader: ObjectReader): Result {
    reading.reader = reader;
    if (reading.depth === 0 && reader.interrupt !== undefined) {
      reading.root.interrupt = () => reader.interrupt?.();
      // The run may have been aborted during the opening.
      if (this.#context.executor.isAborted) reader.interrupt();
    }
    reading.isPrompt = true;
    const { objectBytesMax } = this.#context.limits;
    if (objectBytesMax > 0 && reader.size > objectBytesMax) {
      reading.fault = tooLarge(reading, objectBytesMax);
      return this.#context.finish(step.object);
    }
    return this.#read(step, reading);
  }

  #read(step: FetchSyncStep, reading: ObjectReading): Result {
    // Others may have taken all buffers during the opening.
    const buffer = this.#context.pool.tryAcquire();
    if (buffer === null) return step;
    const { detector, limits } = this.#context;
    const isCarry = carries(reading) && reading.tailEnd === step.offset;
    const prefix = isCarry ? reading.tailLength : Math.min(detector.overlap, step.offset);
    if (isCarry && prefix > 0) buffer.bytes.set(reading.tail!.subarray(0, prefix));
    const toBoundary = (reading.segments?.boundary ?? Infinity) - step.offset;
    const wanted = reading.detector === null ? HEAD_BYTES : Math.min(limits.chunkBytes, toBoundary);
    const start = isCarry ? prefix : 0;
    const length = Math.min(prefix + wanted, buffer.bytes.length) - start;
    const got = this.#fill(reading, buffer.bytes, start, length, isCarry ? step.offset : step.offset - prefix);
    if (typeof got === 'number') return this.#chunkRead(step, reading, buffer, prefix, start + got, got);
    return got.then((bytes) => this.#chunkRead(step, reading, buffer, prefix, start + bytes, bytes));
  }

  /** Reads until the chunk is full or the object ends; a failure ends it too. */
  #fill(
    reading: ObjectReading,
    target: Uint8Array,
    start: number,
    length: number,
    offset: number,
  ): number | Promise<number> {
    const reader = reading.reader!;
    let got = 0;
    try {
      while (got < length) {
        const read = reader.read(target, start + got, length - got, offset + got);
        if (typeof read !== 'number') return this.#fillLater(reading, target, start, length, offset, got, read);
        if (read === 0) reading.ended = true;
        got += read;
        // Declared entry sizes are not trusted: entries are read to the end.
        if (reading.depth === 0 && reader.size > 0 && offset + got >= reader.size) reading.ended = true;
        if (reading.ended) break;
      }
    } catch (error) {
      reading.fault = error;
      reading.ended = true;
    }
    return got;
  }

  async #fillLater(
    reading: ObjectReading,
    target: Uint8Array,
    start: number,
    length: number,
    offset: number,
    gotBefore: number,
    firstRead: Promise<number>,
  ): Promise<number> {
    const reader = reading.reader!;
    reading.isPrompt = false;
    let got = gotBefore;
    try {
      for (let read = await firstRead; ; read = await reader.read(target, start + got, length - got, offset + got)) {
        if (read === 0) reading.ended = true;
        got += read;
        if (reading.depth === 0 && reader.size > 0 && offset + got >= reader.size) reading.ended = true;
        if (reading.ended || got >= length) break;
      }
    } catch (error) {
      reading.fault = error;
      reading.ended = true;
    }
    return got;
  }

  /** @param length valid bytes in the buffer; fewer than the prefix if the object shrank */
  #chunkRead(
    step: FetchSyncStep,
    reading: ObjectReading,
    buffer: BufferHandle,
    prefix: number,
    length: number,
    fetched: number,
  ): Result {
    const { metrics } = reading.root;
    const { limits, executor, finish } = this.#context;
    const prefixLength = Math.min(prefix, length);
    const end = step.offset + length - prefixLength;
    metrics.fetch_sync_count += 1;
    metrics.bytes_fetched += fetched;
    if (step.offset === 0 && length > 0 && limits.archives.enabled && !reading.isPlain)
      this.#recognize(reading, buffer.bytes.subarray(0, length));
    else if (reading.stubSearch !== null) this.#searchStub(reading, buffer.bytes.subarray(0, length), end);
    if (reading.format === null && reading.detector === null) {
      buffer[Symbol.dispose]();
      return finish(step.object);
    }
    if (limits.objectBytesMax > 0 && end > limits.objectBytesMax) {
      reading.fault ??= tooLarge(reading, limits.objectBytesMax);
      reading.ended = true;
    }
    const last = reading.ended;
    const goesOn = !last && reading.format === null;
    if (goesOn && carries(reading)) this.#keepTail(reading, buffer.bytes, length, end);
    if (goesOn) this.#divide(step, reading, buffer.bytes, end);
    executor.spawn({
      kind: 'scan',
      object: goesOn ? step.object.clone() : step.object,
      buffer,
      base_offset: step.offset - prefix,
      length,
      prefix_length: prefixLength,
      last,
    });
    if (goesOn) {
      step.offset = end;
      executor.spawn(step);
    }
    return null;
  }

  #divide({ offset }: FetchSyncStep, reading: ObjectReading, bytes: Uint8Array, end: number): void {
    if (reading.depth === 0) {
      if (offset === 0) reading.segments = this.#context.divide(reading);
      return;
    }
    if (offset === 0) reading.head = headOf(bytes);
    else this.#context.divideStream(reading, end);
  }

  #recognize(reading: ObjectReading, head: Uint8Array): void {
    const { formats } = this.#context;
    reading.format = formats.detect(reading.path, head);
    if (reading.format !== null) return;
    const name = formats.detectUnsupported(head);
    if (name !== null) {
      this.#context.report(reading.root, unsupported(reading.path, name));
      return;
    }
    reading.stubSearch = formats.stubSearchOf(head);
    if (reading.stubSearch !== null) this.#searchStub(reading, head, head.length);
  }

  /**
   * Searches for embedded archives. One that begins at the end of a chunk is found in the next, which repeats that
   * end.
   */
  #searchStub(reading: ObjectReading, bytes: Uint8Array, end: number): void {
    const found = reading.stubSearch!(bytes);
    if (found !== null) {
      const isOpened = found.format !== null && reading.reader!.access === 'range';
      if (isOpened) reading.embedded = { ...found, offset: end - bytes.length + found.offset };
      else this.#context.report(reading.root, unopenedEmbedded(reading.path, found.name, found.format !== null));
    }
    if (found !== null || end >= STUB_BYTES_MAX) reading.stubSearch = null;
  }

  #keepTail(reading: ObjectReading, bytes: Uint8Array, length: number, end: number): void {
    const { overlap } = this.#context.detector;
    reading.tail ??= new Uint8Array(overlap);
    reading.tailLength = Math.min(overlap, length);
    reading.tail.set(bytes.subarray(length - reading.tailLength, length));
    reading.tailEnd = end;
  }
}

function carries(reading: ObjectReading): boolean {
  return reading.isPrompt || reading.reader!.access === 'carry';
}

function tooLarge(reading: ObjectReading, bytesMax: number): ObjectFault {
  return new ObjectFault({
    code: 'too_large',
    path: reading.path,
    message: `it holds more than ${bytesText(bytesMax)}`,
    extent: reading.bytesScanned > 0 ? 'partial' : 'skipped',
  });
}
