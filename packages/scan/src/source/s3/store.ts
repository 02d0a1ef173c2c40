import type { Readable } from 'node:stream';

import type { _Object as Listed } from '@aws-sdk/client-s3';
import type { BucketItem, BucketPage, BucketStore, RangeAnswer, RangeRequest, ReadFailure } from '../bucket/store.ts';
import { addressOf, connect, explain, type S3Connection, type S3Spec } from './connection.ts';

/** Storage classes that must be restored before reading. */
const ARCHIVED_CLASSES: ReadonlySet<string> = new Set(['GLACIER', 'DEEP_ARCHIVE']);

/** A bucket of a service with the S3 API. */
export class S3Store implements BucketStore {
  readonly name: string;
  readonly #spec: S3Spec;
  readonly #connection: S3Connection;

  private constructor(spec: S3Spec, connection: S3Connection) {
    this.name = addressOf(spec);
    this.#spec = spec;
    this.#connection = connection;
  }

  static async open(spec: S3Spec): Promise<S3Store> {
    return new S3Store(spec, await connect(spec));
  }

  async list(token: string | null): Promise<BucketPage> {
    const { sdk, client } = this.#connection;
    const { bucket, prefix } = this.#spec;
    const command = new sdk.ListObjectsV2Command({
      Bucket: bucket,
      Prefix: prefix,
      // Keys may contain characters that XML does not allow.
      EncodingType: 'url',
      OptionalObjectAttributes: ['RestoreStatus'],
      ...(token === null ? {} : { ContinuationToken: token }),
    });
    try {
      const answer = await client.send(command);
      const items = (answer.Contents ?? []).map((listed) => itemOf(listed, answer.EncodingType === 'url'));
      return { items, following: answer.IsTruncated === true ? (answer.NextContinuationToken ?? null) : null };
    } catch (error) {
      throw explain(this.#spec, error);
    }
  }

  pathOf(key: string): string {
    return `s3://${this.#spec.bucket}/${key}`;
  }

  async read({ key, version, offset, length }: RangeRequest): Promise<RangeAnswer> {
    const { sdk, client } = this.#connection;
    const answer = await client.send(
      new sdk.GetObjectCommand({
        Bucket: this.#spec.bucket,
        Key: key,
        Range: `bytes=${offset}-${offset + length - 1}`,
        ...(version === null ? {} : { IfMatch: version }),
      }),
    );
    const body = answer.Body as Readable;
    const total = /\/(\d+)$/.exec(answer.ContentRange ?? '')?.[1];
    const size = total === undefined ? (answer.ContentLength ?? null) : Number(total);
    return {
      body: body as AsyncIterable<Uint8Array>,
      destroy: () => body.destroy(),
      size,
      isRange: total !== undefined,
      version: answer.ETag ?? null,
    };
  }

  failureOf(error: unknown): ReadFailure {
    const { name, message } = error as Error;
    // An empty object satisfies no range.
    if (name === 'InvalidRange') return 'empty';
    if (name === 'PreconditionFailed' || name === '412') return 'replaced';
    if (/NoSuchKey|NotFound/.test(name)) return 'missing';
    if (name === 'InvalidObjectState') return 'archived';
    if (name === 'AccessDenied') return { message: 'access denied; s3:GetObject is needed' };
    return { message: `it cannot be read: ${name}: ${message}` };
  }

  close(): void {
    this.#connection.client.destroy();
  }
}

function itemOf(listed: Listed, isEncoded: boolean): BucketItem {
  const { Key: key = '', Size: size = -1, StorageClass: storageClass = 'STANDARD', RestoreStatus: restored } = listed;
  const isArchived = ARCHIVED_CLASSES.has(storageClass) && restored?.RestoreExpiryDate === undefined;
  return {
    key: isEncoded ? decodeURIComponent(key.replaceAll('+', '%20')) : key,
    size,
    archived: isArchived ? storageClass : null,
  };
}
