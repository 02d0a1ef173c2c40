import type { Readable } from 'node:stream';

import type { ContainerClient } from '@azure/storage-blob';
import { type AzureEnvironment, azureEnvironment } from '@heddle/base/azure-environment';
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

type AzureSpec = Extract<SourceSpec, { type: 'azure' }>;

const PAGE_SIZE = 1000;
const TRIES_MAX = 5;

interface ApiFailure extends Error {
  statusCode?: number;
  code?: string;
}

/** A container of Azure Blob Storage. */
export class AzureStore implements BucketStore {
  readonly name: string;
  readonly #spec: AzureSpec;
  readonly #container: ContainerClient;

  private constructor(spec: AzureSpec, container: ContainerClient) {
    this.name = `${spec.address}/${spec.prefix ?? ''}`;
    this.#spec = spec;
    this.#container = container;
  }

  static async open(spec: AzureSpec): Promise<AzureStore> {
    return new AzureStore(spec, await containerOf(spec, azureEnvironment()));
  }

  async list(token: string | null): Promise<BucketPage> {
    const { prefix } = this.#spec;
    try {
      const pages = this.#container
        .listBlobsFlat(prefix === undefined ? {} : { prefix })
        .byPage({ maxPageSize: PAGE_SIZE, ...(token === null ? {} : { continuationToken: token }) });
      const page = await pages.next();
      if (page.done === true) return { items: [], following: null };
      const { segment, continuationToken } = page.value;
      const items = segment.blobItems.map(({ name, properties }) => ({
        key: name,
        size: properties.contentLength ?? -1,
        archived: properties.accessTier === 'Archive' ? 'Archive' : null,
      }));
      return {
        items,
        following: continuationToken === undefined || continuationToken === '' ? null : continuationToken,
      };
    } catch (error) {
      throw new Error(`${this.name}: ${this.#adviceOf(error as ApiFailure)}`, { cause: error });
    }
  }

  pathOf(key: string): string {
    return `${this.#spec.address}/${key}`;
  }

  async read({ key, version, offset, length }: RangeRequest): Promise<RangeAnswer> {
    const answer = await this.#container.getBlobClient(key).download(offset, length, {
      // A broken transfer is repeated by the reader of all stores.
      maxRetryRequests: 0,
      ...(version === null ? {} : { conditions: { ifMatch: version } }),
    });
    const body = answer.readableStreamBody as Readable;
    const total = /\/(\d+)$/.exec(answer.contentRange ?? '')?.[1];
    return {
      body: body as AsyncIterable<Uint8Array>,
      destroy: () => {
        body.on('error', () => undefined);
        body.destroy();
      },
      size: total === undefined ? (answer.contentLength ?? null) : Number(total),
      isRange: total !== undefined,
      version: answer.etag ?? null,
    };
  }

  failureOf(error: unknown): ReadFailure {
    const { statusCode, code, message } = error as ApiFailure;
    if (statusCode === 416) return 'empty';
    if (statusCode === 412) return 'replaced_or_deleted';
    if (statusCode === 404) return 'missing';
    if (code === 'BlobArchived') return 'archived';
    if (statusCode === 401 || statusCode === 403)
      return { message: 'access denied; the role Storage Blob Data Reader is needed' };
    return { message: `it cannot be read: ${firstLineOf(message)}` };
  }

  close(): void {
    // Requests under way end by themselves.
  }

  #adviceOf({ statusCode, code, message, name }: ApiFailure): string {
    if (code === 'ContainerNotFound' || statusCode === 404)
      return `there is no container ${this.#spec.container}; check its name and that of the account`;
    if (statusCode === 401 || statusCode === 403)
      return 'access denied; these credentials need the role Storage Blob Data Reader, or a SAS to list and read';
    const hasOnlyToken = /^Bearer token authentication is not permitted/.test(message);
    if (name === 'CredentialUnavailableError' || name === 'AggregateAuthenticationError' || hasOnlyToken)
      return 'no credentials were found; set AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, or run: az login';
    return networkAdvice(message) ?? firstLineOf(message);
  }
}

/** Messages of the service continue with the id of the request. */
function firstLineOf(message: string): string {
  return message.split('\n', 1)[0]!;
}

/** With a connection string, a key or a SAS if there is one, else with what `@azure/identity` finds. */
async function containerOf(spec: AzureSpec, environment: AzureEnvironment): Promise<ContainerClient> {
  const sdk = await loadPackage(() => import('@azure/storage-blob'), 'az://', '@azure/storage-blob');
  const options = { retryOptions: { maxTries: TRIES_MAX } };
  const { AZURE_STORAGE_CONNECTION_STRING: connection, AZURE_STORAGE_ACCOUNT: account } = environment;
  const { AZURE_STORAGE_KEY: key, AZURE_STORAGE_SAS_TOKEN: sas } = environment;
  if (connection !== undefined && spec.endpoint === undefined)
    return sdk.BlobServiceClient.fromConnectionString(connection, options).getContainerClient(spec.container);
  const endpoint = spec.endpoint ?? (account === undefined ? undefined : `https://${account}.blob.core.windows.net`);
  if (endpoint === undefined)
    throw new Error(`${spec.address}: no account is named; set AZURE_STORAGE_ACCOUNT, or use --azure-endpoint`);
  if (key !== undefined) {
    const credential = new sdk.StorageSharedKeyCredential(account ?? accountOf(endpoint), key);
    return new sdk.BlobServiceClient(endpoint, credential, options).getContainerClient(spec.container);
  }
  if (sas !== undefined)
    return new sdk.BlobServiceClient(`${endpoint}?${sas.replace(/^\?/, '')}`, undefined, options).getContainerClient(
      spec.container,
    );
  const { DefaultAzureCredential } = await loadPackage(() => import('@azure/identity'), 'az://', '@azure/identity');
  return new sdk.BlobServiceClient(endpoint, new DefaultAzureCredential(), options).getContainerClient(spec.container);
}

function accountOf(endpoint: string): string {
  return new URL(endpoint).hostname.split('.')[0]!;
}
