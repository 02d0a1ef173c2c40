/**
 * Protocol between the executor and a task process: frames of a length (u32, big endian, of type and content), a
 * one-byte type, and the content. Both ends use the same reader, and neither trusts the other.
 */
export const FRAME = {
  /** To the process: u32 serial, u32 header length, header (JSON), arguments (JSON). */
  job: 0x4a,
  /** To the process: JSON `{ url }`, the module to describe. */
  describe: 0x44,
  /** To the process: JSON `{ url }`, the module of an expected job, to load in advance. */
  load: 0x4d,
  /** To the process: aborts the signal of the task. */
  abort: 0x41,
  /** From the process: it can take a job. */
  ready: 0x59,
  /** From the process: the module was loaded or failed to load; a failure is reported by the job that needs it. */
  loaded: 0x6d,
  /** From the process: u32 serial, result (JSON). */
  result: 0x52,
  /** From the process: u32 serial, JSON `{ code, message, details }`. */
  error: 0x45,
  /** From the process: u32 serial, JSON `{ fraction, message }`. */
  progress: 0x50,
  /** From the process: u32 serial, JSON `{ level, message, fields }`. */
  log: 0x4c,
  /** From the process, before its answer: it cannot take another job. */
  leaving: 0x42,
  /** From the process: nothing of the last job is still running, so it can take another one. */
  settled: 0x53,
  /** From the process: JSON list of the module's definitions. */
  described: 0x49,
} as const;

/** Length and type. */
const HEAD_BYTES = 5;

/** Header of a job; its arguments follow as bytes. */
export interface JobHeader {
  readonly url: string;
  readonly event_name: string;
  readonly correlation_id: string;
  readonly traceparent: string | null;
  readonly result_bytes_max: number;
}

/** Encodes a frame from parts. */
export function encodeFrame(type: number, ...parts: readonly Uint8Array[]): Buffer {
  let bytes = 0;
  for (const part of parts) bytes += part.length;
  const frame = Buffer.allocUnsafe(HEAD_BYTES + bytes);
  frame.writeUInt32BE(bytes + 1, 0);
  frame[4] = type;
  let at = HEAD_BYTES;
  for (const part of parts) {
    frame.set(part, at);
    at += part.length;
  }
  return frame;
}

/** Encodes the frame of a job. @param args JSON */
export function encodeJob(serial: number, header: JobHeader, args: Uint8Array): Buffer {
  const text = Buffer.from(JSON.stringify(header));
  const numbers = Buffer.allocUnsafe(8);
  numbers.writeUInt32BE(serial, 0);
  numbers.writeUInt32BE(text.length, 4);
  return encodeFrame(FRAME.job, numbers, text, args);
}

/** Encodes a frame of a serial and a string. */
export function encodeText(type: number, serial: number, text: string): Buffer {
  const bytes = Buffer.byteLength(text);
  const frame = Buffer.allocUnsafe(HEAD_BYTES + 4 + bytes);
  frame.writeUInt32BE(bytes + 5, 0);
  frame[4] = type;
  frame.writeUInt32BE(serial, HEAD_BYTES);
  frame.write(text, HEAD_BYTES + 4, 'utf8');
  return frame;
}

export interface FrameHandlers {
  /** Returns the content limit of a frame type; negative if the type is not allowed. */
  contentBytesMax(type: number): number;
  /** Handles a frame; the content is valid only during the call. */
  onFrame(type: number, content: Buffer): void;
  /** Called for a frame that is not allowed; reading stops. */
  onBreach(type: number, contentBytes: number): void;
}

/** Splits a byte stream into frames. Buffers at most the largest allowed frame. */
export class FrameReader {
  readonly #handlers: FrameHandlers;
  #head = Buffer.alloc(0);
  #body: Buffer | null = null;
  #filled = 0;
  #type = 0;
  #stopped = false;

  constructor(handlers: FrameHandlers) {
    this.#handlers = handlers;
  }

  /** Stops delivering frames. */
  stop(): void {
    this.#stopped = true;
    this.#body = null;
  }

  push(chunk: Buffer): void {
    let at = 0;
    while (!this.#stopped && at < chunk.length) {
      at = this.#body === null ? this.#readHead(chunk, at) : this.#readBody(chunk, at);
    }
  }

  #readHead(chunk: Buffer, at: number): number {
    let head = chunk.subarray(at, at + HEAD_BYTES - this.#head.length);
    const next = at + head.length;
    if (this.#head.length > 0) head = Buffer.concat([this.#head, head]);
    if (head.length < HEAD_BYTES) {
      this.#head = Buffer.from(head);
      return next;
    }
    this.#head = Buffer.alloc(0);
    const bytes = head.readUInt32BE(0) - 1;
    const type = head[4]!;
    if (bytes < 0 || bytes > this.#handlers.contentBytesMax(type)) {
      this.stop();
      this.#handlers.onBreach(type, bytes);
      return chunk.length;
    }
    if (chunk.length - next >= bytes) {
      this.#handlers.onFrame(type, chunk.subarray(next, next + bytes));
      return next + bytes;
    }
    this.#type = type;
    this.#filled = 0;
    this.#body = Buffer.allocUnsafeSlow(bytes);
    return next;
  }

  #readBody(chunk: Buffer, at: number): number {
    const body = this.#body!;
    const copied = chunk.copy(body, this.#filled, at);
    this.#filled += copied;
    if (this.#filled === body.length) {
      this.#body = null;
      this.#handlers.onFrame(this.#type, body);
    }
    return at + copied;
  }
}
