import type { Readable } from 'node:stream';

import type { Bucket, File } from '@google-cloud/storage';
import type { SourceSpec } from '../../options.ts';
import {
  type BucketPage,
  type BucketStore,
  loadPackage,
  type RangeAnswer,
  type RangeRequest,
  type ReadFailure,
} from '../bucket/store.ts';

type GcsSpec = Extract<SourceSpec, { type: 'gcs' }>;

const PAGE_SIZE = 1000;
/** Attempts for a request after the first one. */
const RETRIES_MAX = 4;

interface ApiFailure extends Error {
  code?: number | string;
}

/** A bucket of Google Cloud Storage. The client finds credentials in its usual places. */
export class GcsStore implements BucketStore {
  readonly name: string;
  readonly #spec: GcsSpec;
  readonly #bucket: Bucket;

  private constructor(spec: GcsSpec, bucket: Bucket) {
    this.name = `gs://${spec.bucket}/${spec.prefix ?? ''}`;
    this.#spec = spec;
    this.#bucket = bucket;
  }

  static async open(spec: GcsSpec): Promise<GcsStore> {
    const { Storage } = await loadPackage(() => import('@google-cloud/storage'), 'gs://', '@google-cloud/storage');
    const storage = new Storage({
      ...(spec.endpoint === undefined ? {} : { apiEndpoint: spec.endpoint }),
      retryOptions: { maxRetries: RETRIES_MAX },
    });
    return new GcsStore(spec, storage.bucket(spec.bucket));
  }

  async list(token: string | null): Promise<BucketPage> {
    try {
      const [files, next] = await this.#bucket.getFiles({
        autoPaginate: false,
        maxResults: PAGE_SIZE,
        fields: 'items(name,size),nextPageToken',
        ...(this.#spec.prefix === undefined ? {} : { prefix: this.#spec.prefix }),
        ...(token === null ? {} : { pageToken: token }),
      });
      const following = (next as { pageToken?: string } | null)?.pageToken ?? null;
      // Every storage class can be read at once.
      return {
        items: files.map(({ name, metadata }) => ({ key: name, size: Number(metadata.size ?? -1), archived: null })),
        following,
      };
    } catch (error) {
      throw new Error(`${this.name}: ${this.#adviceOf(error as ApiFailure)}`, { cause: error });
    }
  }

  pathOf(key: string): string {
    return `gs://${this.#spec.bucket}/${key}`;
  }

  read({ key, version, offset, length }: RangeRequest): Promise<RangeAnswer> {
    const file: File = this.#bucket.file(key, version === null ? {} : { generation: version });
    // What is stored compressed is read as it is stored: ranges are those of the stored bytes.
    const body = file.createReadStream({
      start: offset,
      end: offset + length - 1,
      decompress: false,
      validation: false,
    });
    return new Promise((resolve, reject) => {
      body.once('error', reject);
      body.once('response', ({ headers }: { headers: unknown }) => {
        const total = /\/(\d+)$/.exec(headerOf(headers, 'content-range') ?? '')?.[1];
        const whole = headerOf(headers, 'content-length');
        resolve({
          body: body as AsyncIterable<Uint8Array>,
          destroy: () => destroyed(body),
          size: total === undefined ? (whole === null ? null : Number(whole)) : Number(total),
          isRange: total !== undefined,
          version: headerOf(headers, 'x-goog-generation'),
        });
      });
      // The response is announced once the stream is read.
      body.pause();
      body.read(0);
    });
  }

  failureOf(error: unknown): ReadFailure {
    const { code, message } = error as ApiFailure;
    if (code === 416) return 'empty';
    // A version that was pinned is missing whether the object was replaced or deleted.
    if (code === 404) return 'replaced_or_deleted';
    if (code === 401 || code === 403) return { message: 'access denied; storage.objects.get is needed' };
    return { message: `it cannot be read: ${message}` };
  }

  close(): void {
    // Requests under way end by themselves.
  }

  #adviceOf({ code, message }: ApiFailure): string {
    if (code === 404) return `there is no bucket ${this.#spec.bucket}; check its name`;
    if (code === 401 || code === 403)
      return 'access denied; these credentials need storage.objects.list and storage.objects.get';
    if (/default credentials/i.test(message))
      return 'no credentials were found; set GOOGLE_APPLICATION_CREDENTIALS, or run: gcloud auth application-default login';
    return message;
  }
}

/** Answers have headers as a record or as an object of the Fetch API. */
function headerOf(headers: unknown, name: string): string | null {
  if (headers instanceof Headers) return headers.get(name);
  const value = (headers as Readonly<Record<string, string | undefined>>)[name];
  return value ?? null;
}

/** An aborted stream reports an error that is of no interest. */
function destroyed(body: Readable): void {
  body.on('error', () => undefined);
  body.destroy();
}
