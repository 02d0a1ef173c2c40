import { crc32 } from 'node:zlib';

import type { Problem } from '../result.ts';
import { ObjectFault, type ObjectReader } from '../source/port.ts';
import { BudgetFault, bytesText, type ArchiveBudget } from './context.ts';
import { Damage, type Unpacker } from './unpack/unpacker.ts';

export interface EntryContentOptions {
  path: string;
  size: number;
  unpacker: Unpacker;
  /** Charged with the unpacked bytes; null if they are already charged elsewhere. */
  budget: ArchiveBudget | null;
  entryBytesMax: number;
  /** Checksum declared by the archive. */
  crc?: number;
  /** Unpacked size declared by the archive; -1 if unknown. */
  stated_size?: number;
  /** Called once on close; true if the content was read to the end. */
  onClose?: (complete: boolean) => void;
}

/** Reads the content of one entry: unpacks it, charges the budgets first, and delivers what fits. */
export class EntryContent implements ObjectReader {
  readonly size: number;
  readonly access = 'carry';
  readonly #options: EntryContentOptions;
  #piece: Uint8Array | null = null;
  #taken = 0;
  #unpacked = 0;
  #handedOn = 0;
  #crc = 0;
  #complete = false;
  #fault: ObjectFault | null = null;
  #closed = false;

  constructor(options: EntryContentOptions) {
    this.#options = options;
    this.size = options.size;
  }

  read(target: Uint8Array, start: number, length: number): number | Promise<number> {
    if (this.#piece !== null) return this.#copy(target, start, length);
    if (this.#complete) return 0;
    return this.#unpack(target, start, length);
  }

  async #unpack(target: Uint8Array, start: number, length: number): Promise<number> {
    while (this.#piece === null) {
      if (this.#fault !== null) throw this.#fault;
      let piece: Uint8Array | null;
      try {
        piece = await this.#options.unpacker.next();
      } catch (error) {
        throw (this.#fault = this.#faultOf(error));
      }
      if (piece === null) {
        this.#complete = true;
        return 0;
      }
      this.#accept(piece);
    }
    return this.#copy(target, start, length);
  }

  #accept(piece: Uint8Array): void {
    const { budget, entryBytesMax, path, crc } = this.#options;
    let fitting = piece.length;
    const remaining = Math.max(0, entryBytesMax - this.#unpacked);
    this.#unpacked += piece.length;
    if (crc !== undefined) this.#crc = crc32(piece, this.#crc);
    if (budget !== null) {
      fitting = budget.charge(piece.length);
      try {
        budget.check(path, this.#handedOn + Math.min(fitting, remaining) > 0);
      } catch (error) {
        this.#fault = error as ObjectFault;
      }
    }
    if (piece.length > remaining) {
      this.#fault ??= entryBytesFault(path, entryBytesMax);
      fitting = Math.min(fitting, remaining);
    }
    if (fitting > 0) this.#piece = fitting < piece.length ? piece.subarray(0, fitting) : piece;
    this.#taken = 0;
  }

  #copy(target: Uint8Array, start: number, length: number): number {
    const piece = this.#piece!;
    const count = Math.min(length, piece.length - this.#taken);
    target.set(count === piece.length ? piece : piece.subarray(this.#taken, this.#taken + count), start);
    this.#taken += count;
    this.#handedOn += count;
    if (this.#taken === piece.length) this.#piece = null;
    return count;
  }

  #faultOf(error: unknown): ObjectFault {
    if (error instanceof ObjectFault) return error;
    if (!(error instanceof Damage)) throw error;
    const extent = this.#handedOn > 0 ? 'partial' : 'skipped';
    return new ObjectFault({ code: error.code, path: this.#options.path, message: error.message, extent }, error);
  }

  close(): Problem | undefined {
    if (this.#closed) throw new Error('archive entry: already closed');
    this.#closed = true;
    const { unpacker, path, crc, stated_size: stated = -1, onClose } = this.#options;
    const remark = this.#complete ? unpacker.remark?.() : undefined;
    unpacker.close();
    onClose?.(this.#complete);
    if (!this.#complete) return undefined;
    if (remark !== undefined) return { ...remark, path };
    if (stated >= 0 && this.#unpacked !== stated)
      return notice(path, `the archive declares ${stated} bytes, but the entry holds ${this.#unpacked}`);
    if (crc !== undefined && this.#crc !== crc) return notice(path, "the entry's checksum is wrong");
    return undefined;
  }
}

/** Builds the fault of an entry that was read up to its limit. */
export function entryBytesFault(path: string, bytesMax: number): BudgetFault {
  const message = `the entry holds more than ${bytesText(bytesMax)}`;
  return new BudgetFault('entry', { code: 'entry_bytes_budget', path, message, extent: 'partial' });
}

/** Builds a notice: something is wrong with an archive that was read nevertheless. */
export function notice(path: string, message: string): Problem {
  return { code: 'malformed_archive', path, message, extent: 'notice' };
}
