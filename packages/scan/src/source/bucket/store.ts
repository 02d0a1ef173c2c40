import type { SourceSpec } from '../../options.ts';
import type { Problem } from '../../result.ts';

export type BucketSpec = Extract<SourceSpec, { type: 's3' | 'gcs' | 'azure' }>;

export interface BucketItem {
  key: string;
  size: number;
  /** Why it cannot be read before it is restored, such as its storage class; null if it can. */
  archived: string | null;
}

/** Up to 1,000 objects, as a service returns them. */
export interface BucketPage {
  items: readonly BucketItem[];
  /** Token of the next page; null after the last. */
  following: string | null;
}

export interface RangeRequest {
  key: string;
  /** The version of the first part, of which all others must be; null for the first part. */
  version: string | null;
  offset: number;
  length: number;
}

export interface RangeAnswer {
  body: AsyncIterable<Uint8Array>;
  /** Aborts the transfer. */
  destroy: () => void;
  /** Size of the whole object; null if the answer is the whole object, whose size is not announced. */
  size: number | null;
  /** False if the service returned the whole object. */
  isRange: boolean;
  version: string | null;
}

/** What a failed read says about an object. */
export type ReadFailure =
  /** There is nothing in the range: the object is empty. */
  | 'empty'
  | 'missing'
  /** It has another version than the one that was requested. */
  | 'replaced'
  /** It has another version, or no longer exists. */
  | 'replaced_or_deleted'
  | 'archived'
  /** The transfer broke; another attempt may help. */
  | 'broken'
  | { message: string };

/** One bucket or container of a service for objects. Clients retry a request until its answer begins. */
export interface BucketStore {
  /** For messages: `s3://bucket/prefix`. */
  readonly name: string;
  /** @throws Error with the remedy */
  list(token: string | null): Promise<BucketPage>;
  pathOf(key: string): string;
  read(request: RangeRequest): Promise<RangeAnswer>;
  failureOf(error: unknown): ReadFailure;
  close(): void | Promise<void>;
}

export function archived(path: string, storageClass: string): Problem {
  const message = `it is archived (${storageClass}) and must be restored before it can be read`;
  return { code: 'unreadable', path, message, extent: 'skipped' };
}

/** Loads an optional package; its absence is an error that says how to install it. */
export async function loadPackage<T>(load: () => Promise<T>, scheme: string, name: string): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new Error(`${scheme} requires a package; run: npm install ${name}`, { cause: error });
  }
}

const NETWORK_CODE = /\b(?:ECONNREFUSED|ECONNRESET|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|ETIMEDOUT)\b/;

/** Returns the remedy if a message is one of the network, as the libraries of all providers report it; else null. */
export function networkAdvice(message: string): string | null {
  const code = NETWORK_CODE.exec(message)?.[0];
  return code === undefined ? null : `the service cannot be reached (${code}); check its address and the network`;
}
