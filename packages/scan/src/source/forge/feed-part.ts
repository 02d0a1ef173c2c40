import type { CursorState } from '../../graph/cursor.ts';
import type { Problem } from '../../result.ts';
import type { DiscoveredObject } from '../port.ts';
import { ForgeRefusal } from './client.ts';
import { type FeedPage, type ForgeApi, type ForgeRepository, type ForgeText, PAGES_MAX } from './forge-api.ts';
import { writeLocator } from './locator.ts';
import type { ForgePart, PartBatch } from './part.ts';

/** Characters of texts that may wait to be scanned. */
const WAITING_CHARACTERS_MAX = 16 * 1024 * 1024;
/** Answer if issues are turned off. */
const GONE = 410;

export interface FeedOptions {
  api: ForgeApi;
  repository: ForgeRepository;
  feed: string;
  /** The repository in messages: `github.com/acme/shop`. */
  label: string;
}

/** Where a listing is: in which page, after how many texts of which entry. */
interface Place {
  page: string;
  pages: number;
  item: number | null;
  texts: number;
}

/** A list of texts of a repository: issues, pull requests, comments. Each text is an object, named by its address. */
export class FeedPart implements ForgePart {
  readonly removes = false;
  readonly #options: FeedOptions;
  #page: { address: string; content: FeedPage } | null = null;
  /** The texts of the entry that is being listed. */
  #texts: { item: number; texts: readonly ForgeText[] } | null = null;
  #waiting = 0;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  get status(): string | null {
    return `reading the ${this.#options.feed} of ${this.#options.label}`;
  }

  async list(position: CursorState | null, limit: number): Promise<PartBatch> {
    const objects: DiscoveredObject[] = [];
    const problems: Problem[] = [];
    const place = this.#placeOf(position);
    const page = await this.#pageOf(place.page);
    if (page === null) return { objects, problems, position: null };
    let at = place.item === null ? 0 : indexOf(page, place.item);
    let skip = page.items[at]?.id === place.item ? place.texts : 0;
    while (at < page.items.length && objects.length < limit && this.#waiting < WAITING_CHARACTERS_MAX) {
      const texts = await this.#textsOf(page, at, problems);
      const part = texts.slice(skip, skip + limit - objects.length);
      objects.push(...part.flatMap((text) => this.#objectOf(text)));
      skip += part.length;
      if (skip < texts.length) break;
      at += 1;
      skip = 0;
    }
    const isHeavy = this.#waiting >= WAITING_CHARACTERS_MAX;
    if (isHeavy) this.#waiting = 0;
    const next = this.#nextOf(place, page, at, skip, problems);
    return { objects, problems, position: next, isHeavy };
  }

  close(): void {
    this.#page = null;
    this.#texts = null;
  }

  #placeOf(position: CursorState | null): Place {
    const { api, repository, feed } = this.#options;
    if (position?.type !== 'token') return { page: api.feedStart(repository, feed), pages: 1, item: null, texts: 0 };
    return { ...(JSON.parse(position.token ?? '{}') as Omit<Place, 'texts'>), texts: position.skip };
  }

  #nextOf(
    { page: address, pages }: Place,
    page: FeedPage,
    at: number,
    texts: number,
    problems: Problem[],
  ): CursorState | null {
    const item = page.items[at];
    if (item !== undefined)
      return { type: 'token', token: JSON.stringify({ page: address, pages, item: item.id }), skip: texts };
    if (page.next === null) return null;
    if (pages >= PAGES_MAX) {
      problems.push(this.#partial(`it has more than ${PAGES_MAX} pages of ${this.#options.feed}`));
      return null;
    }
    return { type: 'token', token: JSON.stringify({ page: page.next, pages: pages + 1, item: null }), skip: 0 };
  }

  /** Null if the feed is turned off. */
  async #pageOf(address: string): Promise<FeedPage | null> {
    if (this.#page?.address === address) return this.#page.content;
    const { api, repository, feed } = this.#options;
    try {
      const content = await api.feedPage(repository, feed, address);
      this.#page = { address, content };
      return content;
    } catch (error) {
      if (error instanceof ForgeRefusal && error.status === GONE) return null;
      throw error;
    }
  }

  async #textsOf({ items }: FeedPage, at: number, problems: Problem[]): Promise<readonly ForgeText[]> {
    const item = items[at]!;
    if (this.#texts?.item === item.id) return this.#texts.texts;
    const { texts, fault } = await item.texts();
    if (fault !== null) problems.push({ ...this.#partial(fault), path: texts[0]!.url });
    this.#texts = { item: item.id, texts };
    return texts;
  }

  #objectOf({ url, text }: ForgeText): DiscoveredObject[] {
    if (text === '') return [];
    this.#waiting += text.length;
    return [{ path: url, locator: writeLocator({ text }), size_hint: Buffer.byteLength(text) }];
  }

  #partial(message: string): Problem {
    return { code: 'source_failed', path: this.#options.label, message, extent: 'partial' };
  }
}

/** Returns the index of an entry, or of the one after it if it was deleted. */
function indexOf({ items }: FeedPage, item: number): number {
  const exact = items.findIndex(({ id }) => id === item);
  if (exact >= 0) return exact;
  const following = items.findIndex(({ id }) => id > item);
  return following >= 0 ? following : items.length;
}
