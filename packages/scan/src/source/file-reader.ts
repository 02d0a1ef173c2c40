import { closeSync, fstatSync, readSync, type Stats } from 'node:fs';
import { bytesText } from '../archive/context.ts';
import type { Problem } from '../result.ts';
import { problemOf } from './faults.ts';
import { ObjectFault, type ObjectReader } from './port.ts';

/**
 * Reads a file synchronously, up to its size at opening, and reports changes on close. Files that report no size (in
 * `/proc`, and devices) are read to the end or to a limit.
 */
export class FileReader implements ObjectReader {
  readonly size: number;
  readonly access = 'range';
  readonly #path: string;
  readonly #descriptor: number;
  readonly #opened: Stats;
  readonly #bytesMax: number;
  /** Offset at which a read found the end, before the reported size. */
  #endedAt = -1;

  /**
   * Takes ownership of the descriptor.
   *
   * @param bytesMax maximum bytes to read, whatever size the file reports; `Infinity`: all
   */
  constructor(path: string, descriptor: number, opened: Stats, bytesMax = Infinity) {
    this.#path = path;
    this.#descriptor = descriptor;
    this.#opened = opened;
    this.size = opened.isFile() && opened.size > 0 && opened.size <= bytesMax ? opened.size : -1;
    this.#bytesMax = bytesMax;
  }

  /** Made when asked for: only large objects need it. */
  get version(): string | undefined {
    if (this.size === -1) return undefined;
    const { dev, ino, size, mtimeMs, ctimeMs } = this.#opened;
    return [dev, ino, size, mtimeMs, ctimeMs].join(' ');
  }

  read(target: Uint8Array, start: number, length: number, offset: number): number {
    const wanted = this.size === -1 ? Math.min(length, this.#bytesMax - offset) : Math.min(length, this.size - offset);
    if (wanted <= 0 && this.size !== -1) return 0;
    try {
      // A read past the limit detects whether more data follows.
      const count = readSync(this.#descriptor, target, start, wanted > 0 ? wanted : length, offset);
      if (count > 0 && wanted <= 0) throw new ObjectFault(this.#endlessFileProblem());
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

  #endlessFileProblem(): Problem {
    const message = `it reports no size and continues after ${bytesText(this.#bytesMax)}`;
    return { code: 'too_large', path: this.#path, message, extent: 'partial' };
  }

  #changed(message: string): Problem {
    return { code: 'changed_while_read', path: this.#path, message, extent: 'partial' };
  }
}
