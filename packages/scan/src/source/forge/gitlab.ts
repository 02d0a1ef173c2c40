import { messageOf } from '@heddle/base/thrown';

import { type ForgeClient, ForgeOutage, ForgeRefusal, type Page } from './client.ts';
import {
  encodedPath,
  entriesOf,
  type FeedPage,
  type ForgeApi,
  type ForgeItem,
  type ForgeRepository,
  type ForgeText,
  idOf,
  type ItemTexts,
  nameOf,
  PAGES_MAX,
  textMember,
} from './forge-api.ts';

type Json = Readonly<Record<string, unknown>>;

const ORDER = 'order_by=created_at&sort=asc&per_page=50';
/** Lists of texts of a project, oldest first. */
const FEEDS: Readonly<Record<string, string>> = { issues: 'issues', 'merge requests': 'merge_requests' };

/** The REST API of GitLab, for a group with all below it, or one project (`group/project`). */
export class GitlabApi implements ForgeApi {
  readonly #client: ForgeClient;
  readonly #owner: string;

  constructor(client: ForgeClient, owner: string) {
    this.#client = client;
    this.#owner = owner;
  }

  async *repositories(): AsyncGenerator<readonly ForgeRepository[], void, undefined> {
    const path = encodeURIComponent(this.#owner);
    const query = 'include_subgroups=true&with_shared=false&order_by=id&sort=asc&per_page=100';
    let answer = await this.#found(`/groups/${path}/projects?${query}`);
    if (answer === null) {
      const project = await this.#found(`/projects/${path}`);
      if (project === null) throw this.#missing();
      yield entriesOf([project.body], 'projects').map(repositoryOf);
      return;
    }
    for (let page = 0; page < PAGES_MAX; page += 1) {
      yield entriesOf(answer.body, 'projects').map(repositoryOf);
      if (answer.next === null) return;
      answer = await this.#client.get(answer.next);
    }
  }

  feedStart({ id }: ForgeRepository, feed: string): string {
    return `/projects/${id}/${FEEDS[feed]!}?scope=all&state=all&${ORDER}`;
  }

  async feedPage(repository: ForgeRepository, feed: string, page: string): Promise<FeedPage> {
    const { body, next } = await this.#client.get(page);
    return { items: entriesOf(body, feed).map((entry) => this.#itemOf(entry, repository, feed)), next };
  }

  commitUrl(repository: string, commit: string, file: string | null): string {
    const project = `${this.#client.address.web}/${repository}/-`;
    return file === null ? `${project}/commit/${commit}` : `${project}/blob/${commit}/${encodedPath(file)}`;
  }

  async #found(path: string): Promise<Page | null> {
    try {
      return await this.#client.get(path);
    } catch (error) {
      if (error instanceof ForgeRefusal && error.status === 404) return null;
      throw error;
    }
  }

  #missing(): Error {
    const advice = this.#client.hasToken ? 'check what the token in GITLAB_TOKEN may read' : 'set GITLAB_TOKEN';
    return new Error(`GitLab has no group or project ${this.#owner} that can be seen; check the name, or ${advice}`);
  }

  #itemOf(entry: Json, { id: project, name }: ForgeRepository, feed: string): ForgeItem {
    const id = idOf(entry, feed);
    const { iid } = entry;
    if (!Number.isSafeInteger(iid)) throw new Error(`the list of ${feed} has an entry without a number`);
    const kind = FEEDS[feed]!;
    const url = `${this.#client.address.web}/${name}/-/${kind}/${String(iid)}`;
    const parts = [textMember(entry, 'title'), textMember(entry, 'description')];
    const own = { url, text: parts.filter((part) => part !== '').join('\n\n') };
    const hasNotes = entry['user_notes_count'] !== 0;
    return {
      id,
      texts: () =>
        hasNotes
          ? this.#withNotes(own, `/projects/${project}/${kind}/${String(iid)}/notes`)
          : Promise.resolve({ texts: [own], fault: null }),
    };
  }

  /** Adds the comments, as far as they can be read. */
  async #withNotes(own: ForgeText, path: string): Promise<ItemTexts> {
    const texts = [own];
    let size = own.text.length;
    try {
      let next: string | null = `${path}?order_by=created_at&sort=asc&per_page=50`;
      for (; next !== null && size <= NOTE_CHARACTERS_MAX;) {
        const answer: Page = await this.#client.get(next);
        for (const note of entriesOf(answer.body, 'comments')) {
          const text = textMember(note, 'body');
          size += text.length + NOTE_CHARACTERS;
          texts.push({ url: `${own.url}#note_${idOf(note, 'comments')}`, text });
        }
        next = answer.next;
      }
      return { texts, fault: next === null ? null : 'it has more comments than are read' };
    } catch (error) {
      if (error instanceof ForgeOutage) throw error;
      return { texts, fault: messageOf(error) };
    }
  }
}

/** Comments of one issue are kept together, so their sum is limited; this much is added for each. */
const NOTE_CHARACTERS_MAX = 32 * 1024 * 1024;
const NOTE_CHARACTERS = 500;

function repositoryOf(entry: Json): ForgeRepository {
  const isOff = (name: string): boolean => entry[name] === 'disabled';
  return {
    id: idOf(entry, 'projects'),
    name: nameOf(textMember(entry, 'path_with_namespace')),
    is_fork: typeof entry['forked_from_project'] === 'object' && entry['forked_from_project'] !== null,
    is_archived: entry['archived'] === true,
    has_code: !isOff('repository_access_level'),
    has_wiki: !isOff('wiki_access_level') && entry['wiki_enabled'] !== false,
    feeds: [
      ...(isOff('issues_access_level') ? [] : ['issues']),
      ...(isOff('merge_requests_access_level') ? [] : ['merge requests']),
    ],
  };
}
