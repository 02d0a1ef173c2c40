import { type CursorState, EnumCursor } from '../../graph/cursor.ts';
import type { Problem } from '../../result.ts';
import type { DiscoveredObject, EnumerationBatch, ObjectSource } from '../port.ts';
import { archived, type BucketItem, type BucketPage, type BucketSpec, type BucketStore } from './store.ts';
import { openStore } from './open-store.ts';

interface Page extends BucketPage {
  /** The token that requested it; null for the first page. */
  token: string | null;
}

/**
 * Lists the objects of a bucket in the order of the service, for most that of the keys' bytes. The
 * cursor is a page, the number of its objects already returned, and the last key, since a page may lose some.
 */
export class BucketSource implements ObjectSource {
  readonly name: string;
  readonly #store: BucketStore;
  #page: Page | null = null;

  private constructor(store: BucketStore) {
    this.name = store.name;
    this.#store = store;
  }

  static async open(spec: BucketSpec): Promise<BucketSource> {
    return new BucketSource(await openStore(spec));
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
      const path = this.#store.pathOf(item.key);
      if (isDirectoryMarker(item)) continue;
      if (item.archived === null) objects.push({ path, locator: item.key, size_hint: item.size });
      else problems.push(archived(path, item.archived));
    }
    return { objects, problems, cursor: this.#cursorAt(page, next) };
  }

  async close(): Promise<void> {
    this.#page = null;
    await this.#store.close();
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
    this.#page = { token, ...(await this.#store.list(token)) };
    return this.#page;
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

/** Returns the index after `key` or, if it was deleted since, where it would have been. */
function indexAfter(items: readonly BucketItem[], key: string, skip: number): number {
  const index = items.findIndex((item) => item.key === key);
  if (index !== -1) return index + 1;
  const bytes = Buffer.from(key);
  const later = items.findIndex((item) => Buffer.compare(Buffer.from(item.key), bytes) > 0);
  return later === -1 ? Math.min(skip, items.length) : later;
}

/** Consoles create such keys to show an empty folder. */
function isDirectoryMarker({ key, size }: BucketItem): boolean {
  return key.endsWith('/') && size === 0;
}
