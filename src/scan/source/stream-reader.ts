import { closeSync, fstatSync, readSync } from 'node:fs';
import { Socket } from 'node:net';
import { isatty, ReadStream } from 'node:tty';
import { problemOf } from './faults.ts';
import { ObjectFault, type ObjectReader } from './port.ts';

/**
 * Reads a descriptor from front to back, whatever is behind it. Pipes, sockets and terminals are waited for by the event
 * loop, so that nothing blocks or spins while no data comes, and at most 128 KiB of it wait here; files and other devices are read as they are.
 *
 * @param descriptor is closed with the reader, unless it is standard input
 */
export function openStream(path: string, descriptor: number): ObjectReader {
  const stats = fstatSync(descriptor);
  if (isatty(descriptor)) return new StreamReader(path, new ReadStream(descriptor));
  if (!stats.isFIFO() && !stats.isSocket()) return new SequentialReader(path, descriptor);
  const socket = new Socket({ fd: descriptor, readable: true, writable: false });
  return new StreamReader(path, socket);
}

/** A pipe, socket or terminal. */
class StreamReader implements ObjectReader {
  readonly size = -1;
  readonly access = 'carry';
  readonly #path: string;
  readonly #stream: Socket;
  #failure: Error | null = null;
  #ended = false;
  #wake: (() => void) | null = null;
  #taken = 0;

  constructor(path: string, stream: Socket) {
    this.#path = path;
    this.#stream = stream;
    const wake = (): void => this.#wake?.();
    stream.on('readable', wake);
    stream.on('end', () => {
      this.#ended = true;
      wake();
    });
    stream.on('close', () => {
      this.#ended = true;
      wake();
    });
    stream.on('error', (error) => {
      this.#failure = error;
      wake();
    });
  }

  async read(target: Uint8Array, start: number, length: number): Promise<number> {
    for (;;) {
      const chunk = this.#take(length);
      if (chunk !== null) {
        target.set(chunk, start);
        this.#taken += chunk.length;
        return chunk.length;
      }
      if (this.#failure !== null) {
        const extent = this.#taken === 0 ? 'skipped' : 'partial';
        throw new ObjectFault(problemOf(this.#failure, this.#path, extent), this.#failure);
      }
      if (this.#ended) return 0;
      await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#wake = null;
    }
  }

  #take(length: number): Uint8Array | null {
    // A stream gives nothing where less is there than asked for, unless it has ended.
    const there = Math.min(length, this.#stream.readableLength);
    return (there === 0 ? this.#stream.read() : this.#stream.read(there)) as Uint8Array | null;
  }

  interrupt(): void {
    this.#stream.destroy();
  }

  close(): undefined {
    this.#stream.destroy();
  }
}

/** A file or a device whose position is where the process got it. */
class SequentialReader implements ObjectReader {
  readonly size = -1;
  readonly access = 'carry';
  readonly #path: string;
  readonly #descriptor: number;

  constructor(path: string, descriptor: number) {
    this.#path = path;
    this.#descriptor = descriptor;
  }

  read(target: Uint8Array, start: number, length: number, offset: number): number {
    try {
      return readSync(this.#descriptor, target, start, length, null);
    } catch (error) {
      throw new ObjectFault(problemOf(error, this.#path, offset === 0 ? 'skipped' : 'partial'), error);
    }
  }

  close(): undefined {
    if (this.#descriptor !== 0) closeSync(this.#descriptor);
  }
}
