import { malformed, TlsFault } from './fault.ts';
import { CONTENT_TYPE } from './protocol.ts';

export interface TlsRecordLayer {
  readonly type: number;
  /** The five bytes before the content, which encryption authenticates. */
  readonly header: Uint8Array;
  readonly content: Uint8Array;
}

const HEADER_BYTES = 5;
/** Maximum content of a record, including the expansion that older versions allow. */
const CONTENT_BYTES_MAX = 2 ** 14 + 2048;
const SHOWN_BYTES_MAX = 48;
/** Fits the whole answer of most servers. */
const INITIAL_BYTES = 8192;

/** Splits a byte stream into records; anything but TLS is a fault that quotes its beginning. */
export class RecordStream {
  #buffer = Buffer.alloc(0);
  #start = 0;
  #end = 0;

  push(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  /** Returns the next record, or null if it is incomplete. Its bytes are valid until the next push. */
  next(): TlsRecordLayer | null {
    const pending = this.#buffer.subarray(this.#start, this.#end);
    if (!looksLikeTls(pending)) throw new TlsFault('malformed', describeStranger(pending));
    if (pending.length < HEADER_BYTES) return null;
    const length = pending.readUInt16BE(3);
    if (length > CONTENT_BYTES_MAX) throw malformed(`a record of ${length} bytes`);
    const end = HEADER_BYTES + length;
    if (pending.length < end) return null;
    this.#start += end;
    return {
      type: pending[0]!,
      header: pending.subarray(0, HEADER_BYTES),
      content: pending.subarray(HEADER_BYTES, end),
    };
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#buffer.length) return;
    const kept = this.#end - this.#start;
    const needed = kept + bytes;
    const buffer = Buffer.allocUnsafe(needed <= INITIAL_BYTES ? INITIAL_BYTES : needed * 2);
    this.#buffer.copy(buffer, 0, this.#start, this.#end);
    this.#buffer = buffer;
    this.#start = 0;
    this.#end = kept;
  }
}

function looksLikeTls(bytes: Uint8Array): boolean {
  if (bytes.length === 0) return true;
  const type = bytes[0]!;
  if (type < CONTENT_TYPE.change_cipher_spec || type > CONTENT_TYPE.application_data) return false;
  return (bytes.length < 2 || bytes[1] === 3) && (bytes.length < 3 || bytes[2]! <= 4);
}

/** Describes the protocol of a port without TLS. */
function describeStranger(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.subarray(0, SHOWN_BYTES_MAX)).toString('latin1');
  const shown = JSON.stringify(text.split(/[\r\n]/, 1)[0]!.replaceAll(/[^\x20-\x7e]/g, '.'));
  if (/^HTTP\/\d/.test(text)) return `not TLS: HTTP: ${shown}`;
  if (text.startsWith('SSH-')) return `not TLS: SSH: ${shown}`;
  return `not TLS: ${shown}`;
}
