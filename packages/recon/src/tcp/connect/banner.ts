const BANNER_BYTES_MAX = 1024;

/** How long to wait for the first byte, and for more after each read. */
export const BANNER_WAIT_MS = 2000;
export const BANNER_QUIET_MS = 200;

const ESCAPES: Readonly<Record<number, string>> = { 0x09: '\\t', 0x0a: '\\n', 0x0d: '\\r', 0x5c: '\\\\' };

/** Collects the banner of a service, up to 1,024 bytes. */
export class Banner {
  #chunks: Uint8Array[] = [];
  #bytes = 0;

  get empty(): boolean {
    return this.#bytes === 0;
  }

  /** Returns whether more fits. */
  add(chunk: Uint8Array): boolean {
    const part = chunk.subarray(0, BANNER_BYTES_MAX - this.#bytes);
    // A copy, since the read buffer may be much larger than the banner.
    if (part.length > 0) this.#chunks.push(part.slice());
    this.#bytes += part.length;
    return this.#bytes < BANNER_BYTES_MAX;
  }

  /** Returns ASCII unchanged; every other byte as `\n`, `\r`, `\t`, `\\` or `\x` and two digits. */
  text(): string {
    let text = '';
    for (const chunk of this.#chunks) for (const byte of chunk) text += escaped(byte);
    return text;
  }
}

function escaped(byte: number): string {
  const escape = ESCAPES[byte];
  if (escape !== undefined) return escape;
  if (byte >= 0x20 && byte < 0x7f) return String.fromCharCode(byte);
  return `\\x${byte.toString(16).padStart(2, '0')}`;
}
