import { closeSync, fstatSync, readSync, type Stats } from 'node:fs';
import { bytesText } from '../archive/context.ts';
import type { Problem } from '../result.ts';
import { problemOf } from './faults.ts';
import { ObjectFault, type ObjectReader } from './port.ts';

/**
 * A file, read synchronously up to the size that it had when it was opened; at the end it is compared with what it was.
 * Files that state no size (of `/proc`, and devices) are read until they end, or to a bound.
 */
export class FileReader implements ObjectReader {
  readonly size: number;
  readonly access = 'range';
  readonly #path: string;
  readonly #descriptor: number;
  readonly #opened: Stats;
  readonly #bytesMax: number;
  /** Where a read came to the end, before the size that was stated. */
  #endedAt = -1;

  /**
   * Takes over the descriptor.
   *
   * @param bytesMax what is read of it, whatever size it states; `Infinity`: all
   */
  constructor(path: string, descriptor: number, opened: Stats, bytesMax = Infinity) {
    this.#path = path;
    this.#descriptor = descriptor;
    this.#opened = opened;
    this.size = opened.isFile() && opened.size > 0 && opened.size <= bytesMax ? opened.size : -1;
    this.#bytesMax = bytesMax;
  }

  read(target: Uint8Array, start: number, length: number, offset: number): number {
    const wanted = this.size === -1 ? Math.min(length, this.#bytesMax - offset) : Math.min(length, this.size - offset);
    if (wanted <= 0 && this.size !== -1) return 0;
    try {
      // A read beyond the bound says whether anything follows.
      const count = readSync(this.#descriptor, target, start, wanted > 0 ? wanted : length, offset);
      if (count > 0 && wanted <= 0) throw new ObjectFault(this.#endless());
      if (count === 0 && this.size !== -1) this.#endedAt = offset;
      return count;
    } catch (error) {
      if (error instanceof ObjectFault) throw error;
      throw new ObjectFault(problemOf(error, this.#path, offset === 0 ? 'skipped' : 'partial'), error);
    }
  }

  close(): Problem | undefined {
    try {
      return this.#change(fstatSync(this.#descriptor));
    } catch (error) {
      return problemOf(error, this.#path, 'partial');
    } finally {
      closeSync(this.#descriptor);
    }
  }

  #change(now: Stats): Problem | undefined {
    const { size, mtimeMs } = this.#opened;
    if (!now.isFile() || (now.size === size && now.mtimeMs === mtimeMs)) return undefined;
    if (now.size > size) return this.#changed(`it grew from ${size} to ${now.size} bytes while it was read`);
    if (now.size === size) return this.#changed('it was written to while it was read');
    const read = this.#endedAt === -1 ? '' : `; only ${this.#endedAt} bytes could be read`;
    return this.#changed(`it shrank from ${size} to ${now.size} bytes while it was read${read}`);
  }

  #endless(): Problem {
    const message = `it states no size of its own and goes on after ${bytesText(this.#bytesMax)}`;
    return { code: 'too_large', path: this.#path, message, extent: 'partial' };
  }

  #changed(message: string): Problem {
    return { code: 'changed_while_read', path: this.#path, message, extent: 'partial' };
  }
}
