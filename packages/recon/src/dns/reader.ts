/** Why a message cannot be read. */
export type MessageFault =
  | 'message_too_short'
  | 'name_runs_out'
  | 'name_too_long'
  | 'pointer_not_back'
  | 'label_type_unknown'
  | 'record_runs_out'
  | 'rdata_length_wrong'
  | 'too_many_records';

const NAME_BYTES_MAX = 255;
const POINTER = 0xc0;

/**
 * Reads a message front to back. Keeps the first fault and returns empty values from then on, so that callers check
 * `fault` only at the end of a stage.
 */
export class MessageReader {
  #bytes: Uint8Array = new Uint8Array(0);
  position = 0;
  fault: MessageFault | null = null;

  reset(bytes: Uint8Array, position: number): void {
    this.#bytes = bytes;
    this.position = position;
    this.fault = null;
  }

  get bytes(): Uint8Array {
    return this.#bytes;
  }

  fail(fault: MessageFault): void {
    this.fault ??= fault;
  }

  /** Returns whether `count` more bytes are available. */
  has(count: number): boolean {
    if (this.fault === null && this.position + count <= this.#bytes.length) return true;
    this.fail('record_runs_out');
    return false;
  }

  read8(): number {
    return this.has(1) ? this.#bytes[this.position++]! : 0;
  }

  read16(): number {
    if (!this.has(2)) return 0;
    const at = this.position;
    this.position = at + 2;
    return (this.#bytes[at]! << 8) | this.#bytes[at + 1]!;
  }

  read32(): number {
    return this.read16() * 0x10000 + this.read16();
  }

  /** Skips a name: its own bytes, up to a pointer or its end. */
  skipName(): void {
    const bytes = this.#bytes;
    let at = this.position;
    while (this.fault === null) {
      if (at >= bytes.length) {
        this.fail('name_runs_out');
        return;
      }
      const length = bytes[at]!;
      if (length >= POINTER) {
        if (at + 2 > bytes.length) {
          this.fail('name_runs_out');
          return;
        }
        this.position = at + 2;
        return;
      }
      if (length > 63) {
        this.fail('label_type_unknown');
        return;
      }
      at += length + 1;
      if (at - this.position > NAME_BYTES_MAX) {
        this.fail('name_too_long');
        return;
      }
      if (length === 0) {
        this.position = at;
        return;
      }
    }
  }

  /**
   * Reads a name in lower case, without a trailing dot; the root is `.`. Unusual characters are written as in zone
   * files: `\.`, `\032`. A pointer must lead to before the labels that it continues, so every step goes further back
   * and loops are impossible.
   */
  readName(): string {
    const bytes = this.#bytes;
    let at = this.position;
    let earliest = at;
    let end = -1;
    let wireBytes = 1;
    let name = '';
    while (this.fault === null) {
      if (at >= bytes.length) {
        this.fail('name_runs_out');
        break;
      }
      const length = bytes[at]!;
      if (length === 0) {
        this.position = end === -1 ? at + 1 : end;
        return name === '' ? '.' : name;
      }
      if (length >= POINTER) {
        if (at + 2 > bytes.length) {
          this.fail('name_runs_out');
          break;
        }
        if (end === -1) end = at + 2;
        at = ((length & 0x3f) << 8) | bytes[at + 1]!;
        if (at >= earliest) this.fail('pointer_not_back');
        earliest = at;
        continue;
      }
      wireBytes += length + 1;
      if (length > 63) this.fail('label_type_unknown');
      else if (wireBytes > NAME_BYTES_MAX) this.fail('name_too_long');
      else if (at + 1 + length > bytes.length) this.fail('name_runs_out');
      else {
        const label = labelText(bytes, at + 1, at + 1 + length);
        name = name === '' ? label : `${name}.${label}`;
        at += length + 1;
      }
    }
    return '';
  }
}

function labelText(bytes: Uint8Array, from: number, to: number): string {
  let text = '';
  for (let at = from; at < to; at++) {
    const code = bytes[at]!;
    if (code >= 0x41 && code <= 0x5a) text += String.fromCharCode(code + 0x20);
    else if (code === 0x2e || code === 0x5c) text += `\\${String.fromCharCode(code)}`;
    else if (code > 0x20 && code < 0x7f) text += String.fromCharCode(code);
    else text += `\\${String(code).padStart(3, '0')}`;
  }
  return text;
}
