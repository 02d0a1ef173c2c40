/** A repository of a forge. */
export interface ForgeRepository {
  id: number;
  /** `acme/shop`, `group/subgroup/shop`. */
  name: string;
  is_fork: boolean;
  is_archived: boolean;
  /** False if the forge says that it has none. */
  has_code: boolean;
  has_wiki: boolean;
  /** The lists of its texts: `issues`. */
  feeds: readonly string[];
}

/** What an issue, a pull request or a comment says. */
export interface ForgeText {
  /** The address of its page. */
  url: string;
  text: string;
}

export interface ItemTexts {
  texts: readonly ForgeText[];
  /** Why they are not complete. */
  fault: string | null;
}

/** An entry of a feed. */
export interface ForgeItem {
  /** Rises along a feed. */
  id: number;
  /** Requests what is missing of its texts. */
  texts(): Promise<ItemTexts>;
}

export interface FeedPage {
  items: readonly ForgeItem[];
  /** Null after the last page. */
  next: string | null;
}

/** What a scan needs of a forge. */
export interface ForgeApi {
  /** Yields the repositories of the owner, page by page. */
  repositories(): AsyncGenerator<readonly ForgeRepository[], void, undefined>;
  /** Returns the address of the first page of a feed. */
  feedStart(repository: ForgeRepository, feed: string): string;
  feedPage(repository: ForgeRepository, feed: string, page: string): Promise<FeedPage>;
  /** Returns the address of a file in a commit, or of a commit. */
  commitUrl(repository: string, commit: string, file: string | null): string;
}

/** Pages of one list that are read. */
export const PAGES_MAX = 10_000;

type Json = Readonly<Record<string, unknown>>;

/** Returns the entries of a page; throws if the body is not a list of objects. */
export function entriesOf(body: unknown, what: string): readonly Json[] {
  if (Array.isArray(body) && body.every((each) => typeof each === 'object' && each !== null)) return body as Json[];
  throw new Error(`the list of ${what} is not a list of objects`);
}

/** Returns a member that must be an id. */
export function idOf(entry: Json, what: string): number {
  const { id } = entry;
  if (typeof id === 'number' && Number.isSafeInteger(id)) return id;
  throw new Error(`the list of ${what} has an entry without an id`);
}

export function textMember(entry: Json, name: string): string {
  const value = entry[name];
  return typeof value === 'string' ? value : '';
}

/** Names become parts of addresses and paths. */
export function nameOf(name: string): string {
  const parts = name.split('/');
  const isName = parts.length > 1 && parts.every((part) => /^[\w.-]+$/.test(part) && !/^\.+$/.test(part));
  if (isName) return name;
  throw new Error(`the list of repositories has one with a name that is none: ${name.slice(0, 200)}`);
}

export function encodedPath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}
