import { malformed } from '../protocol/refusal.ts';

const BYTES_MIN = 256;
/** Larger buffers grow by half. */
const DOUBLED_BYTES_MAX = 1024 * 1024;
const PIECE = /^[A-Za-z0-9+/=\r\n\t ]*$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Collects base64 text that arrives in pieces into one buffer, one byte per character regardless of piece size. */
export class Base64Text {
  #chars = Buffer.alloc(0);
  #length = 0;

  /** Memory held, bytes. */
  get heldBytes(): number {
    return this.#chars.length;
  }

  /** @throws RemoteFailure MALFORMED at the first invalid character */
  add(piece: string): void {
    if (!PIECE.test(piece)) throw notBase64();
    const length = this.#length + piece.length;
    if (length > this.#chars.length) {
      const factor = this.#chars.length < DOUBLED_BYTES_MAX ? 2 : 1.5;
      const grown = Buffer.allocUnsafeSlow(Math.max(BYTES_MIN, length, Math.ceil(this.#chars.length * factor)));
      this.#chars.copy(grown, 0, 0, this.#length);
      this.#chars = grown;
    }
    this.#chars.write(piece, this.#length, 'latin1');
    this.#length = length;
  }

  /** @throws RemoteFailure MALFORMED */
  decode(): Buffer {
    const packed = this.#chars.toString('latin1', 0, this.#length).replace(/[\r\n\t ]+/g, '');
    if (packed.length % 4 !== 0 || !BASE64.test(packed)) throw notBase64();
    return Buffer.from(packed, 'base64');
  }
}

function notBase64(): Error {
  return malformed('xml: a <base64> has invalid content');
}
