import { closeSync, fstatSync, readSync } from 'node:fs';
import { Socket } from 'node:net';
import { isatty, ReadStream } from 'node:tty';
import { problemOf } from './faults.ts';
import { ObjectFault, type ObjectReader } from './port.ts';

/**
 * Opens a descriptor of any type for reading front to back. Pipes, sockets and terminals are read through the event
 * loop, so that nothing blocks or spins while no data arrives, with at most 128 KiB buffered; files and other devices
 * are read directly.
 *
 * @param descriptor closed with the reader, unless it is standard input
 */
export function openStream(path: string, descriptor: number): ObjectReader {
  const stats = fstatSync(descriptor);
  if (isatty(descriptor)) return new StreamReader(path, new ReadStream(descriptor));
  if (!stats.isFIFO() && !stats.isSocket()) return new SequentialReader(path, descriptor);
  const socket = new Socket({ fd: descriptor, readable: true, writable: false });
  return new StreamReader(path, socket);
}

/** Reads a pipe, socket or terminal. */
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
    // Unless it has ended, a stream returns nothing if less data is buffered than requested.
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

/** Reads a file or device from the descriptor's current position. */
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
