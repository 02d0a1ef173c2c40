import type { Bucket, Storage } from '@google-cloud/storage';
import { EnvHttpProxyAgent, request } from 'undici';
import type { SourceSpec } from '../../options.ts';
import {
  type BucketPage,
  type BucketStore,
  loadPackage,
  networkAdvice,
  type RangeAnswer,
  type RangeRequest,
  type ReadFailure,
} from '../bucket/store.ts';

type GcsSpec = Extract<SourceSpec, { type: 'gcs' }>;

const PAGE_SIZE = 1000;
/** The longest silence within an answer. */
const SILENCE_MAX_MS = 60_000;
/** Attempts for a request of a page after the first one. */
const RETRIES_MAX = 4;

interface Listed {
  items?: readonly { name: string; size: string }[];
  nextPageToken?: string;
}

interface ApiFailure extends Error {
  code?: number | string;
}

/** A bucket of Google Cloud Storage. The client finds credentials in its usual places. */
export class GcsStore implements BucketStore {
  readonly name: string;
  readonly #spec: GcsSpec;
  readonly #storage: Storage;
  readonly #bucket: Bucket;
  readonly #agent = new EnvHttpProxyAgent();

  private constructor(spec: GcsSpec, storage: Storage) {
    this.name = `gs://${spec.bucket}/${spec.prefix ?? ''}`;
    this.#spec = spec;
    this.#storage = storage;
    this.#bucket = storage.bucket(spec.bucket);
  }

  static async open(spec: GcsSpec): Promise<GcsStore> {
    const { Storage: Client } = await loadPackage(
      () => import('@google-cloud/storage'),
      'gs://',
      '@google-cloud/storage',
    );
    const storage = new Client({
      ...(spec.endpoint === undefined ? {} : { apiEndpoint: spec.endpoint }),
      retryOptions: { maxRetries: RETRIES_MAX },
    });
    return new GcsStore(spec, storage);
  }

  async list(token: string | null): Promise<BucketPage> {
    try {
      const [, , answer] = await this.#bucket.getFiles({
        autoPaginate: false,
        maxResults: PAGE_SIZE,
        fields: 'items(name,size),nextPageToken',
        ...(this.#spec.prefix === undefined ? {} : { prefix: this.#spec.prefix }),
        ...(token === null ? {} : { pageToken: token }),
      });
      const { items = [], nextPageToken = null } = answer as Listed;
      // Every storage class can be read at once.
      const files = items.map(({ name, size }) => ({ key: name, size: Number(size), archived: null }));
      return { items: files, following: nextPageToken };
    } catch (error) {
      throw new Error(`${this.name}: ${this.#adviceOf(error as ApiFailure)}`, { cause: error });
    }
  }

  pathOf(key: string): string {
    return `gs://${this.#spec.bucket}/${key}`;
  }

  /**
   * Requests a range without the client, whose streams decompress what is stored compressed; ranges are those of the
   * stored bytes.
   */
  async read({ key, version, offset, length }: RangeRequest): Promise<RangeAnswer> {
    const url = new URL(
      `/storage/v1/b/${encodeURIComponent(this.#spec.bucket)}/o/${encodeURIComponent(key)}`,
      this.#storage.apiEndpoint,
    );
    url.searchParams.set('alt', 'media');
    if (version !== null) url.searchParams.set('generation', version);
    const { statusCode, headers, body } = await request(url, {
      dispatcher: this.#agent,
      headersTimeout: SILENCE_MAX_MS,
      bodyTimeout: SILENCE_MAX_MS,
      headers: {
        ...(await this.#authorization()),
        range: `bytes=${offset}-${offset + length - 1}`,
        'accept-encoding': 'gzip',
      },
    });
    const destroy = (): void => {
      body.on('error', () => undefined);
      body.destroy();
    };
    if (statusCode >= 300) {
      destroy();
      throw Object.assign(new Error(`HTTP ${statusCode}`), { code: statusCode });
    }
    const total = /\/(\d+)$/.exec(String(headers['content-range'] ?? ''))?.[1];
    const whole = headers['content-length'];
    const size = total ?? whole;
    const generation = headers['x-goog-generation'];
    return {
      body: body as AsyncIterable<Uint8Array>,
      destroy,
      size: size === undefined ? null : Number(size),
      isRange: total !== undefined,
      version: typeof generation === 'string' ? generation : null,
    };
  }

  failureOf(error: unknown): ReadFailure {
    const { code, message } = error as ApiFailure;
    if (code === 416) return 'empty';
    if (code === 408 || code === 429 || (typeof code === 'number' && code >= 500) || isOfNetwork(code)) return 'broken';
    // A version that was pinned is missing whether the object was replaced or deleted.
    if (code === 404) return 'replaced_or_deleted';
    if (code === 401 || code === 403) return { message: 'access denied; storage.objects.get is needed' };
    return { message: `it cannot be read: ${message}` };
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  /** As the client does, none is sent to an endpoint that is not Google's. */
  async #authorization(): Promise<Record<string, string>> {
    if (this.#storage.customEndpoint) return {};
    return Object.fromEntries(new Headers(await this.#storage.authClient.getRequestHeaders()));
  }

  #adviceOf({ code, message }: ApiFailure): string {
    if (code === 404) return `there is no bucket ${this.#spec.bucket}; check its name`;
    if (code === 401 || code === 403)
      return 'access denied; these credentials need storage.objects.list and storage.objects.get';
    if (/default credentials/i.test(message))
      return 'no credentials were found; set GOOGLE_APPLICATION_CREDENTIALS, or run: gcloud auth application-default login';
    return networkAdvice(message) ?? message;
  }
}

/** Codes of undici and of sockets. */
function isOfNetwork(code: string | number | undefined): boolean {
  return typeof code === 'string' && /^(UND_ERR_|E[A-Z]+$)/.test(code);
}
