import type { GetObjectCommandOutput } from '@aws-sdk/client-s3';
import type { Readable } from 'node:stream';
import { backoffMs } from '@heddle/base/backoff';
import { systemClock } from '@heddle/base/clock';
import { Permits } from '@heddle/base/permits';
import { systemRandom } from '@heddle/base/random';
import type { Problem } from '../../result.ts';
import { ObjectFault, type ObjectOpener, type ObjectReader } from '../port.ts';
import { connect, type S3Connection, type S3Spec } from './connection.ts';
import { archived } from './s3.ts';

/** The first request reads this much along with the size: most objects need no second one. */
const FIRST_BYTES = 1024 * 1024;
/** Concurrent requests of one opener. */
const REQUESTS_MAX = 16;
/** Attempts for a part whose transfer broke; the SDK itself retries a request only until its response begins. */
const TRANSFER_TRIES_MAX = 4;
const RETRY = { base_ms: 100, factor: 2, max_ms: 2_000, jitter: 0.5 };

/** Reads objects in parts, all from the version of the first part. */
export class S3Opener implements ObjectOpener {
  readonly #parts: PartReader;

  private constructor(parts: PartReader) {
    this.#parts = parts;
  }

  static async open(spec: S3Spec): Promise<S3Opener> {
    return new S3Opener(new PartReader(spec.bucket, await connect(spec)));
  }

  async open({ path, locator }: { path: string; locator: string }): Promise<ObjectReader> {
    const buffer = new Uint8Array(FIRST_BYTES);
    const first = await this.#parts.read({ path, key: locator, version: null, target: buffer, offset: 0 });
    // Most objects are small, and many may be open.
    const begin = first.count * 2 < buffer.length ? buffer.slice(0, first.count) : buffer.subarray(0, first.count);
    return new S3Reader(this.#parts, { path, key: locator, version: first.version, size: first.size, begin });
  }

  close(): void {
    this.#parts.close();
  }
}

interface S3ReaderOptions {
  path: string;
  key: string;
  version: string | null;
  size: number;
  /** The first bytes of the object. */
  begin: Uint8Array;
}

class S3Reader implements ObjectReader {
  readonly size: number;
  readonly access = 'range';
  readonly version?: string;
  readonly #parts: PartReader;
  readonly #options: S3ReaderOptions;
  #begin: Uint8Array | null;

  constructor(parts: PartReader, options: S3ReaderOptions) {
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
  /** Entity tag of the version being read; null for the first part. */
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
  readonly #bucket: string;
  readonly #connection: S3Connection;
  readonly #permits = new Permits(REQUESTS_MAX);
  #isClosed = false;

  constructor(bucket: string, connection: S3Connection) {
    this.#bucket = bucket;
    this.#connection = connection;
  }

  async read(request: PartRequest): Promise<Part> {
    using _permit = await this.#permits.acquire();
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#transfer(request);
      } catch (error) {
        if (isEmptyObject(error)) return { count: 0, size: 0, version: null };
        const isLast = tries === TRANSFER_TRIES_MAX || this.#isClosed;
        if (isLast || !(error instanceof BrokenTransfer)) throw new ObjectFault(problemOf(error, request), error);
      }
      await systemClock.sleep(backoffMs(RETRY, tries, () => systemRandom.next()));
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#connection.client.destroy();
  }

  async #transfer({ key, version, target, offset }: PartRequest): Promise<Part> {
    const { sdk, client } = this.#connection;
    const answer = await client.send(
      new sdk.GetObjectCommand({
        Bucket: this.#bucket,
        Key: key,
        Range: `bytes=${offset}-${offset + target.length - 1}`,
        ...(version === null ? {} : { IfMatch: version }),
      }),
    );
    const total = /\/(\d+)$/.exec(answer.ContentRange ?? '')?.[1];
    if (total === undefined && offset > 0) {
      (answer.Body as Readable).destroy();
      throw new Error('the service does not support range requests');
    }
    const count = await receive(answer, target);
    const size = Number(total ?? answer.ContentLength ?? count);
    if (count < Math.min(target.length, size - offset)) throw new BrokenTransfer('the response ended early');
    return { count, size, version: answer.ETag ?? null };
  }
}

/** Some bytes of a response did not arrive. */
class BrokenTransfer extends Error {}

async function receive(answer: GetObjectCommandOutput, target: Uint8Array): Promise<number> {
  let count = 0;
  const body = answer.Body as Readable;
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      const rest = target.length - count;
      target.set(chunk.length > rest ? chunk.subarray(0, rest) : chunk, count);
      count += Math.min(chunk.length, rest);
      // A service without range support sends the whole object.
      if (count === target.length) break;
    }
  } catch (error) {
    throw new BrokenTransfer((error as Error).message, { cause: error });
  } finally {
    body.destroy();
  }
  return count;
}

/** An empty object satisfies no range. */
function isEmptyObject(error: unknown): boolean {
  return (error as Error).name === 'InvalidRange';
}

function problemOf(error: unknown, { path, version, offset }: PartRequest): Problem {
  const { name, message } = error as Error;
  const extent = offset === 0 ? 'skipped' : 'partial';
  if (version !== null && /PreconditionFailed|NoSuchKey|NotFound|412/.test(name)) {
    const what = name === 'PreconditionFailed' || name === '412' ? 'was replaced' : 'was deleted';
    return { code: 'changed_while_read', path, message: `it ${what} while it was read`, extent: 'partial' };
  }
  if (/NoSuchKey|NotFound/.test(name))
    return { code: 'vanished', path, message: 'it disappeared before it could be read', extent };
  if (name === 'InvalidObjectState') return archived(path, 'storage class of the object');
  if (name === 'AccessDenied')
    return { code: 'unreadable', path, message: 'access denied; s3:GetObject is needed', extent };
  return { code: 'unreadable', path, message: `it cannot be read: ${name}: ${message}`, extent };
}
