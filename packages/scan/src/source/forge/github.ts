import { type ForgeClient, ForgeRefusal } from './client.ts';
import {
  encodedPath,
  entriesOf,
  type FeedPage,
  type ForgeApi,
  type ForgeItem,
  type ForgeRepository,
  idOf,
  nameOf,
  PAGES_MAX,
  textMember,
} from './forge-api.ts';

type Json = Readonly<Record<string, unknown>>;

/** Lists of texts of a repository, oldest first. The first one has the pull requests, too. */
const FEEDS: Readonly<Record<string, string>> = {
  issues: 'issues?state=all&sort=created&direction=asc&per_page=100',
  pulls: 'pulls?state=all&sort=created&direction=asc&per_page=100',
  comments: 'issues/comments?sort=created&direction=asc&per_page=100',
  'review comments': 'pulls/comments?sort=created&direction=asc&per_page=100',
};

/** The REST API of GitHub, for an organization, a user, or one repository (`acme/shop`). */
export class GithubApi implements ForgeApi {
  readonly #client: ForgeClient;
  readonly #owner: string;

  constructor(client: ForgeClient, owner: string) {
    this.#client = client;
    this.#owner = owner;
  }

  async *repositories(): AsyncGenerator<readonly ForgeRepository[], void, undefined> {
    if (this.#owner.includes('/')) {
      const { body } = await this.#first(`/repos/${encodedPath(this.#owner)}`, 'repository');
      yield entriesOf([body], 'repositories').map(repositoryOf);
      return;
    }
    const name = encodeURIComponent(this.#owner);
    const { body } = await this.#first(`/users/${name}`, 'organization or user');
    const isOrganization = (body as Json | null)?.['type'] === 'Organization';
    let next: string | null = isOrganization
      ? `/orgs/${name}/repos?type=all&per_page=100`
      : `/users/${name}/repos?type=owner&per_page=100`;
    for (let page = 0; next !== null && page < PAGES_MAX; page += 1) {
      const answer = await this.#client.get(next);
      yield entriesOf(answer.body, 'repositories').map(repositoryOf);
      next = answer.next;
    }
  }

  feedStart({ name }: ForgeRepository, feed: string): string {
    return `/repos/${name}/${FEEDS[feed]!}`;
  }

  async feedPage({ name }: ForgeRepository, feed: string, page: string): Promise<FeedPage> {
    const { body, next } = await this.#client.get(page);
    return { items: entriesOf(body, feed).map((entry) => this.#itemOf(entry, name, feed)), next };
  }

  commitUrl(repository: string, commit: string, file: string | null): string {
    const { web } = this.#client.address;
    return file === null
      ? `${web}/${repository}/commit/${commit}`
      : `${web}/${repository}/blob/${commit}/${encodedPath(file)}`;
  }

  async #first(path: string, what: string) {
    try {
      return await this.#client.get(path);
    } catch (error) {
      if (!(error instanceof ForgeRefusal) || error.status !== 404) throw error;
      const advice = this.#client.hasToken ? 'check what the token in GITHUB_TOKEN may read' : 'set GITHUB_TOKEN';
      throw new Error(`GitHub has no ${what} ${this.#owner} that can be seen; check the name, or ${advice}`, {
        cause: error,
      });
    }
  }

  #itemOf(entry: Json, repository: string, feed: string): ForgeItem {
    const id = idOf(entry, feed);
    const given = textMember(entry, 'html_url');
    const page = `${this.#client.address.web}/${repository}/`;
    // What a server calls the address is shown only if it is one of the repository.
    const url = given.startsWith(page) ? given : `${page}issues#${id}`;
    const title = textMember(entry, 'title');
    const body = textMember(entry, 'body');
    const text = [title, body].filter((part) => part !== '').join('\n\n');
    return { id, texts: () => Promise.resolve({ texts: [{ url, text }], fault: null }) };
  }
}

function repositoryOf(entry: Json): ForgeRepository {
  const listed = entry['has_issues'] === false ? 'pulls' : 'issues';
  return {
    id: idOf(entry, 'repositories'),
    name: nameOf(textMember(entry, 'full_name')),
    is_fork: entry['fork'] === true,
    is_archived: entry['archived'] === true,
    has_code: true,
    has_wiki: entry['has_wiki'] === true,
    feeds: [listed, 'comments', 'review comments'],
  };
}
