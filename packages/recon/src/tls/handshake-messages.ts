import { malformed } from './fault.ts';
import { READ_LIMITS } from './protocol.ts';

export interface HandshakeMessage {
  readonly type: number;
  readonly body: Uint8Array;
  /** Header and body, as used in transcripts. */
  readonly raw: Uint8Array;
}

const HEADER_BYTES = 4;

/** Assembles handshake messages from records: one record may contain many, and one message may span many. */
export class HandshakeMessages {
  #pending: Buffer = Buffer.alloc(0);
  #total = 0;

  push(content: Uint8Array): void {
    this.#total += content.length;
    if (this.#total > READ_LIMITS.handshake_bytes_max) throw tooLong();
    this.#pending = this.#pending.length === 0 ? Buffer.from(content) : Buffer.concat([this.#pending, content]);
  }

  next(): HandshakeMessage | null {
    const pending = this.#pending;
    if (pending.length < HEADER_BYTES) return null;
    const end = HEADER_BYTES + pending.readUIntBE(1, 3);
    if (end > READ_LIMITS.handshake_bytes_max) throw tooLong();
    if (pending.length < end) return null;
    this.#pending = pending.subarray(end);
    return { type: pending[0]!, body: pending.subarray(HEADER_BYTES, end), raw: pending.subarray(0, end) };
  }

  /** Whether an incomplete message is pending. */
  get hasPending(): boolean {
    return this.#pending.length > 0;
  }
}

function tooLong(): Error {
  return malformed(`a handshake of more than ${READ_LIMITS.handshake_bytes_max} bytes`);
}
