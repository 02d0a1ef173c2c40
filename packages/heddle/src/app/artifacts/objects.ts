import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';

import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { retrying } from '@heddle/base/retry';
import { explain, connect, type S3Connection, type S3Spec } from '@heddle/scan/source/s3/connection';
import type {
  ArtifactContent,
  BlobStore,
  ContentId,
  DirectTransfers,
  ReceivedBlob,
  UploadTarget,
} from '@heddle/core/engine/port';
import type { S3Address } from './s3-address.ts';
import { removeOldFiles, spoolContent } from './spool.ts';

const DIGEST = /^[0-9a-f]{64}$/;
const REMOVED_PER_REQUEST = 1_000;
const UPLOAD_SECS = 3_600;
const PERMISSIONS = 's3:ListBucket for the bucket, and s3:GetObject, s3:PutObject and s3:DeleteObject for its objects';
const TRIES_MAX = 4;
const RETRY = { base_ms: 200, factor: 3, max_ms: 5_000, jitter: 0.5 };
const CHECKSUM = 'x-amz-checksum-sha256';

export interface ArtifactObjectsOptions {
  address: S3Address;
  /** Where contents are until their hash is known. */
  spoolDirectory: string;
  newId: () => string;
  clock: Clock;
  log: Logger;
}

/** Contents as objects of a bucket: `PREFIXab/abcdef…`. */
export class ArtifactObjects implements BlobStore, DirectTransfers {
  readonly #options: ArtifactObjectsOptions;
  readonly #spec: S3Spec;
  #opening: Promise<S3Connection> | null = null;
  #isVerifying: Promise<boolean> | null = null;

  constructor(options: ArtifactObjectsOptions) {
    this.#options = options;
    const { endpoint } = options.address;
    // Other services rarely have a host name for each bucket.
    this.#spec = { type: 's3', ...options.address, ...(endpoint === undefined ? {} : { force_path_style: true }) };
  }

  get direct(): DirectTransfers {
    return this;
  }

  async receive(content: ArtifactContent, bytesMax: number): Promise<ReceivedBlob> {
    const { spoolDirectory: directory, newId } = this.#options;
    const spooled = await spoolContent({ directory, name: newId() }, content, bytesMax);
    const upload = (): Promise<unknown> =>
      this.#repeat(({ sdk, client }) => {
        const checksum = spooled.digest.toString('base64');
        const object = { ...this.#object(spooled.digest), ContentLength: spooled.size, ChecksumSHA256: checksum };
        return client.send(new sdk.PutObjectCommand({ ...object, Body: spooled.read() }));
      });
    try {
      await upload();
    } catch (error) {
      await spooled.close();
      throw error;
    }
    return {
      digest: spooled.digest,
      size: spooled.size,
      // It may have been removed meanwhile as a content that nothing uses.
      keep: async () => {
        if (!(await this.isUploaded(spooled))) await upload();
      },
      discard: () => spooled.close(),
    };
  }

  read(digest: Buffer): Promise<Readable> {
    return this.#ask(async ({ sdk, client }) => {
      const { Body } = await client.send(new sdk.GetObjectCommand(this.#object(digest)));
      return Body as Readable;
    });
  }

  async remove(digests: readonly Buffer[]): Promise<void> {
    for (let at = 0; at < digests.length; at += REMOVED_PER_REQUEST) {
      const Objects = digests.slice(at, at + REMOVED_PER_REQUEST).map((digest) => ({ Key: this.#object(digest).Key }));
      const { bucket: Bucket } = this.#spec;
      const { Errors: [failed] = [] } = await this.#ask(({ sdk, client }) =>
        client.send(new sdk.DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } })),
      );
      if (failed !== undefined) throw new Error(`could not remove ${String(failed.Key)}: ${String(failed.Message)}`);
    }
  }

  async *list(before: number): AsyncGenerator<Buffer[]> {
    const { bucket: Bucket, prefix: Prefix } = this.#spec;
    let ContinuationToken: string | undefined;
    do {
      const page = await this.#ask(({ sdk, client }) =>
        client.send(new sdk.ListObjectsV2Command({ Bucket, Prefix, ContinuationToken })),
      );
      const old = (page.Contents ?? []).filter(({ LastModified }) => (LastModified?.getTime() ?? Infinity) < before);
      const names = old.map(({ Key = '' }) => Key.slice(Key.lastIndexOf('/') + 1));
      yield names.filter((name) => DIGEST.test(name)).map((name) => Buffer.from(name, 'hex'));
      ContinuationToken = page.NextContinuationToken;
    } while (ContinuationToken !== undefined);
  }

  /** A part of a content never becomes an object; its file may have kept its name. */
  removeUnfinished(before: number): Promise<void> {
    return removeOldFiles(this.#options.spoolDirectory, before);
  }

  async signUpload({ digest, size }: ContentId): Promise<UploadTarget | null> {
    if (!(await this.#verifiesContents())) return null;
    const ChecksumSHA256 = digest.toString('base64');
    const url = await this.#ask(async ({ sdk, client }) => {
      const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner');
      const command = new sdk.PutObjectCommand({ ...this.#object(digest), ContentLength: size, ChecksumSHA256 });
      return getSignedUrl(client, command, {
        expiresIn: UPLOAD_SECS,
        signableHeaders: new Set(['host', 'content-length']),
        unhoistableHeaders: new Set([CHECKSUM]),
      });
    });
    const headers = { 'content-length': String(size), [CHECKSUM]: ChecksumSHA256 };
    return { url, headers, expires_at: this.#options.clock.now() + UPLOAD_SECS * 1000 };
  }

  async isUploaded({ digest, size }: ContentId): Promise<boolean> {
    return this.#ask(async ({ sdk, client }) => {
      try {
        const { ContentLength } = await client.send(new sdk.HeadObjectCommand(this.#object(digest)));
        return ContentLength === size;
      } catch (error) {
        if (error instanceof sdk.S3ServiceException && error.$metadata.httpStatusCode === 404) return false;
        throw error;
      }
    });
  }

  signDownload(digest: Buffer, fileName: string, lifeSecs: number): Promise<string> {
    return this.#ask(async ({ sdk, client }) => {
      const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner');
      const command = new sdk.GetObjectCommand({
        ...this.#object(digest),
        ResponseContentType: 'application/octet-stream',
        ResponseContentDisposition: `attachment; filename*=UTF-8''${encodeURIComponent(fileName)}`,
      });
      return getSignedUrl(client, command, { expiresIn: lifeSecs });
    });
  }

  /** The SDK repeats no request whose body is a stream. */
  #repeat(request: (connection: S3Connection) => Promise<unknown>): Promise<unknown> {
    const { clock } = this.#options;
    const mayRetry = (error: unknown, retry: number): boolean => retry < TRIES_MAX && mayPass(error);
    const { signal } = new AbortController();
    return this.#ask((connection) =>
      retrying(() => request(connection), { policy: RETRY, clock, random: systemRandom, signal, mayRetry }),
    );
  }

  /**
   * Whether the service compares a content with its checksum. Without that anyone who may upload could store other bytes
   * under the digest of a content, so that uploads go through the server then.
   */
  #verifiesContents(): Promise<boolean> {
    this.#isVerifying ??= this.#tryWrongChecksum().catch((error: unknown) => {
      this.#isVerifying = null;
      throw error;
    });
    return this.#isVerifying;
  }

  #tryWrongChecksum(): Promise<boolean> {
    const { bucket: Bucket, prefix } = this.#spec;
    const object = { Bucket, Key: `${prefix}checksum-test-${this.#options.newId()}` };
    const ChecksumSHA256 = createHash('sha256').update('something else').digest('base64');
    return this.#ask(async ({ sdk, client }) => {
      try {
        await client.send(new sdk.PutObjectCommand({ ...object, Body: 'a test', ChecksumSHA256 }));
      } catch (error) {
        if (error instanceof sdk.S3ServiceException && error.$metadata.httpStatusCode === 400) return true;
        throw error;
      }
      await client.send(new sdk.DeleteObjectCommand(object));
      const { bucket } = this.#options.address;
      this.#options.log.warn({ bucket }, 'the store of artifacts ignores checksums: workers upload through the server');
      return false;
    });
  }

  #object(digest: Buffer): { Bucket: string; Key: string } {
    const hex = digest.toString('hex');
    return { Bucket: this.#spec.bucket, Key: `${this.#spec.prefix ?? ''}${hex.slice(0, 2)}/${hex}` };
  }

  async #ask<T>(request: (connection: S3Connection) => Promise<T>): Promise<T> {
    try {
      this.#opening ??= connect(this.#spec);
      return await request(await this.#opening);
    } catch (error) {
      throw explain(this.#spec, error, PERMISSIONS);
    }
  }
}

/** Whether an answer was a fault of the service, or there was none. */
function mayPass(error: unknown): boolean {
  const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
  return status === undefined || status === 429 || status >= 500;
}
