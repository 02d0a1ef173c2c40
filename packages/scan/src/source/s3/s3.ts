import type { _Object as Listed } from '@aws-sdk/client-s3';
import { type CursorState, EnumCursor } from '../../graph/cursor.ts';
import type { Problem } from '../../result.ts';
import type { DiscoveredObject, EnumerationBatch, ObjectSource } from '../port.ts';
import { addressOf, connect, explain, type S3Connection, type S3Spec } from './connection.ts';

/** Storage classes that must be restored before reading. */
const ARCHIVED_CLASSES: ReadonlySet<string> = new Set(['GLACIER', 'DEEP_ARCHIVE']);

/** Up to 1,000 objects, as returned by the service. */
interface Page {
  /** The token that requested it; null for the first page. */
  token: string | null;
  items: readonly Item[];
  /** Token of the next page; null after the last. */
  following: string | null;
}

interface Item {
  key: string;
  size: number;
  /** Null if it can be read. */
  archived: string | null;
}

/**
 * Lists the objects of a bucket in the order of the service: for general purpose buckets, that of the keys' bytes. The
 * cursor is a page, the number of its objects already returned, and the last key, since a page may lose some.
 */
export class S3Source implements ObjectSource {
  readonly name: string;
  readonly #spec: S3Spec;
  readonly #connection: S3Connection;
  #page: Page | null = null;

  private constructor(spec: S3Spec, connection: S3Connection) {
    this.name = addressOf(spec);
    this.#spec = spec;
    this.#connection = connection;
  }

  static async open(spec: S3Spec): Promise<S3Source> {
    return new S3Source(spec, await connect(spec));
  }

  async enumerate(cursor: EnumCursor, limit: number): Promise<EnumerationBatch> {
    const position = cursor.take();
    const objects: DiscoveredObject[] = [];
    const problems: Problem[] = [];
    if (position.at === 'done') return { objects, problems, cursor: EnumCursor.done() };
    const { token, after, skip } = placeOf(this.name, position.at === 'continue' ? position.state : null);
    const page = await this.#pageOf(token);
    let next = after === null ? skip : indexAfter(page.items, after, skip);
    for (; next < page.items.length && objects.length < limit; next += 1) {
      const item = page.items[next]!;
      const path = `s3://${this.#spec.bucket}/${item.key}`;
      if (isDirectoryMarker(item)) continue;
      if (item.archived === null) objects.push({ path, locator: item.key, size_hint: item.size });
      else problems.push(archived(path, item.archived));
    }
    return { objects, problems, cursor: this.#cursorAt(page, next) };
  }

  close(): void {
    this.#page = null;
    this.#connection.client.destroy();
  }

  #cursorAt(page: Page, next: number): EnumCursor {
    if (next < page.items.length) {
      const token = JSON.stringify({ page: page.token, after: page.items[next - 1]!.key });
      return EnumCursor.continue({ type: 'token', token, skip: next });
    }
    this.#page = null;
    if (page.following === null) return EnumCursor.done();
    return EnumCursor.continue({ type: 'token', token: JSON.stringify({ page: page.following }), skip: 0 });
  }

  async #pageOf(token: string | null): Promise<Page> {
    if (this.#page !== null && this.#page.token === token) return this.#page;
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
      const following = answer.IsTruncated === true ? (answer.NextContinuationToken ?? null) : null;
      this.#page = { token, items, following };
      return this.#page;
    } catch (error) {
      throw explain(this.#spec, error);
    }
  }
}

function placeOf(
  name: string,
  state: CursorState | null,
): { token: string | null; after: string | null; skip: number } {
  if (state === null) return { token: null, after: null, skip: 0 };
  if (state.type !== 'token') throw new Error(`${name}: the cursor belongs to another source (${state.type})`);
  const { page, after } = JSON.parse(state.token ?? '{}') as { page?: string | null; after?: string };
  return { token: page ?? null, after: after ?? null, skip: state.skip };
}

function itemOf(listed: Listed, isEncoded: boolean): Item {
  const { Key: key = '', Size: size = -1, StorageClass: storageClass = 'STANDARD', RestoreStatus: restored } = listed;
  const isArchived = ARCHIVED_CLASSES.has(storageClass) && restored?.RestoreExpiryDate === undefined;
  return {
    key: isEncoded ? decodeURIComponent(key.replaceAll('+', '%20')) : key,
    size,
    archived: isArchived ? storageClass : null,
  };
}

/** Returns the index after `key` or, if it was deleted since, where it would have been. */
function indexAfter(items: readonly Item[], key: string, skip: number): number {
  const index = items.findIndex((item) => item.key === key);
  if (index !== -1) return index + 1;
  const bytes = Buffer.from(key);
  const later = items.findIndex((item) => Buffer.compare(Buffer.from(item.key), bytes) > 0);
  return later === -1 ? Math.min(skip, items.length) : later;
}

/** Consoles create such keys to show an empty folder. */
function isDirectoryMarker({ key, size }: Item): boolean {
  return key.endsWith('/') && size === 0;
}

export function archived(path: string, storageClass: string): Problem {
  const message = `it is archived (${storageClass}) and must be restored before it can be read`;
  return { code: 'unreadable', path, message, extent: 'skipped' };
}
