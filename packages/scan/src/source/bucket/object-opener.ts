import { backoffMs } from '@heddle/base/backoff';
import { systemClock } from '@heddle/base/clock';
import { Permits } from '@heddle/base/permits';
import { systemRandom } from '@heddle/base/random';
import type { Problem } from '../../result.ts';
import { ObjectFault, type ObjectOpener, type ObjectReader } from '../port.ts';
import { openStore } from './open-store.ts';
import { archived, type BucketSpec, type BucketStore, type RangeAnswer, type ReadFailure } from './store.ts';

/** The first request reads this much along with the size: most objects need no second one. */
const FIRST_BYTES = 1024 * 1024;
/** Concurrent requests of one opener. */
const REQUESTS_MAX = 16;
/** Attempts for a part whose transfer broke; clients retry a request only until its response begins. */
const TRANSFER_TRIES_MAX = 4;
const RETRY = { base_ms: 100, factor: 2, max_ms: 2_000, jitter: 0.5 };

/** Reads objects in parts, all from the version of the first part. */
export class BucketOpener implements ObjectOpener {
  readonly #parts: PartReader;

  private constructor(parts: PartReader) {
    this.#parts = parts;
  }

  static async open(spec: BucketSpec): Promise<BucketOpener> {
    return new BucketOpener(new PartReader(await openStore(spec)));
  }

  async open({ path, locator }: { path: string; locator: string }): Promise<ObjectReader> {
    const buffer = new Uint8Array(FIRST_BYTES);
    const first = await this.#parts.read({ path, key: locator, version: null, target: buffer, offset: 0 });
    // Most objects are small, and many may be open.
    const begin = first.count * 2 < buffer.length ? buffer.slice(0, first.count) : buffer.subarray(0, first.count);
    return new BucketReader(this.#parts, { path, key: locator, version: first.version, size: first.size, begin });
  }

  async close(): Promise<void> {
    await this.#parts.close();
  }
}

interface BucketReaderOptions {
  path: string;
  key: string;
  version: string | null;
  size: number;
  /** The first bytes of the object. */
  begin: Uint8Array;
}

class BucketReader implements ObjectReader {
  readonly size: number;
  readonly access = 'range';
  readonly version?: string;
  readonly #parts: PartReader;
  readonly #options: BucketReaderOptions;
  #begin: Uint8Array | null;

  constructor(parts: PartReader, options: BucketReaderOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#begin = options.begin;
    this.size = options.size;
    if (options.version !== null) this.version = options.version;
  }

  read(target: Uint8Array, start: number, length: number, offset: number): number | Promise<number> {
    const wanted = Math.min(length, this.size - offset);
    if (wanted <= 0) return 0;
    const begin = this.#begin;
    if (begin !== null && offset < begin.length) {
      const part = begin.subarray(offset, offset + wanted);
      target.set(part, start);
      return part.length;
    }
    return this.#readPart(target.subarray(start, start + wanted), offset);
  }

  close(): undefined {
    this.#begin = null;
  }

  async #readPart(target: Uint8Array, offset: number): Promise<number> {
    const { path, key, version } = this.#options;
    return (await this.#parts.read({ path, key, version, target, offset })).count;
  }
}

interface PartRequest {
  path: string;
  key: string;
  /** The version being read; null for the first part. */
  version: string | null;
  /** Bytes to read, which fill the buffer. */
  target: Uint8Array;
  offset: number;
}

interface Part {
  count: number;
  /** Size of the whole object. */
  size: number;
  version: string | null;
}

class PartReader {
  readonly #store: BucketStore;
  readonly #permits = new Permits(REQUESTS_MAX);
  #isClosed = false;

  constructor(store: BucketStore) {
    this.#store = store;
  }

  async read(request: PartRequest): Promise<Part> {
    using _permit = await this.#permits.acquire();
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#transfer(request);
      } catch (error) {
        const failure = error instanceof BrokenTransfer ? 'broken' : this.#store.failureOf(error);
        if (failure === 'empty') return { count: 0, size: 0, version: null };
        const isLast = tries === TRANSFER_TRIES_MAX || this.#isClosed;
        if (isLast || failure !== 'broken') throw new ObjectFault(problemOf(failure, error, request), error);
      }
      await systemClock.sleep(backoffMs(RETRY, tries, () => systemRandom.next()));
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#store.close();
  }

  async #transfer({ key, version, target, offset }: PartRequest): Promise<Part> {
    const answer = await this.#store.read({ key, version, offset, length: target.length });
    if (!answer.isRange && offset > 0) {
      answer.destroy();
      throw new Error('the service does not support range requests');
    }
    const count = await receive(answer, target);
    const size = answer.size ?? count;
    if (count < Math.min(target.length, size - offset)) throw new BrokenTransfer('the response ended early');
    return { count, size, version: answer.version };
  }
}

/** Some bytes of a response did not arrive. */
class BrokenTransfer extends Error {}

async function receive({ body, destroy }: RangeAnswer, target: Uint8Array): Promise<number> {
  let count = 0;
  try {
    for await (const chunk of body) {
      const rest = target.length - count;
      target.set(chunk.length > rest ? chunk.subarray(0, rest) : chunk, count);
      count += Math.min(chunk.length, rest);
      // A service without range support sends the whole object.
      if (count === target.length) break;
    }
  } catch (error) {
    throw new BrokenTransfer((error as Error).message, { cause: error });
  } finally {
    destroy();
  }
  return count;
}

function problemOf(failure: ReadFailure, error: unknown, { path, version, offset }: PartRequest): Problem {
  const extent = offset === 0 ? 'skipped' : 'partial';
  const changed = (what: string): Problem => {
    return { code: 'changed_while_read', path, message: `it ${what} while it was read`, extent: 'partial' };
  };
  const vanished: Problem = { code: 'vanished', path, message: 'it disappeared before it could be read', extent };
  switch (failure) {
    case 'missing':
      return version === null ? vanished : changed('was deleted');
    case 'replaced':
      return changed('was replaced');
    case 'replaced_or_deleted':
      return version === null ? vanished : changed('was replaced or deleted');
    case 'archived':
      return archived(path, 'storage class of the object');
    case 'broken':
    case 'empty': {
      const { name, message } = error as Error;
      return { code: 'unreadable', path, message: `it cannot be read: ${name}: ${message}`, extent };
    }
    default:
      return { code: 'unreadable', path, message: failure.message, extent };
  }
}
