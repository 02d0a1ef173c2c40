import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { messageOf } from '@heddle/base/thrown';
import { type CursorState, EnumCursor } from '../../graph/cursor.ts';
import type { EnumerationBatch, ObjectSource } from '../port.ts';
import { FORGE_TOKENS, forgeAddress, type ForgeSpec, withoutScheme } from './address.ts';
import { ForgeClient, ForgeOutage, ForgeRefusal } from './client.ts';
import { FeedPart } from './feed-part.ts';
import type { ForgeApi, ForgeRepository } from './forge-api.ts';
import { GithubApi } from './github.ts';
import { GitlabApi } from './gitlab.ts';
import { HistoryPart } from './history-part.ts';
import type { ForgePart, PartBatch } from './part.ts';

const REPOSITORIES_MAX = 100_000;
/** Parts that fail one after the other, until the server counts as down. */
const FAILURES_MAX = 5;

/** Where a listing is: before a part of a repository, or at a position within it. */
interface Place {
  /** Its id; repositories are listed in the order of their ids. */
  repository: number;
  part: string;
  within: CursorState | null;
}

/**
 * Lists what the repositories of an owner have, one after the other: the history, from a temporary clone, that of the
 * wiki, and the texts of issues and pull requests. A part that cannot be read is a problem.
 */
export class ForgeSource implements ObjectSource {
  readonly name: string;
  readonly #spec: ForgeSpec;
  readonly #host: string;
  readonly #client: ForgeClient;
  readonly #api: ForgeApi;
  #repositories: readonly ForgeRepository[] | null = null;
  /** Their indexes in the list, by their ids. */
  #indexes: ReadonlyMap<number, number> = new Map();
  #open: { place: Place; part: ForgePart } | null = null;
  /** The cursor that was returned for the position of the open part. */
  #state: CursorState | null = null;
  /** Of clones. */
  #directory: string | null = null;
  #clones = 0;
  #failures = 0;
  #status: string | null = null;

  constructor(spec: ForgeSpec) {
    const address = forgeAddress(spec.type, spec.endpoint);
    if (address === null) throw new Error(`${spec.endpoint ?? ''} is not the address of a server`);
    this.#spec = spec;
    this.#host = withoutScheme(address.web);
    this.name = `${this.#host}/${spec.owner}`;
    this.#client = new ForgeClient(spec.type, address);
    this.#api =
      spec.type === 'github' ? new GithubApi(this.#client, spec.owner) : new GitlabApi(this.#client, spec.owner);
  }

  get status(): string | null {
    return this.#client.status ?? this.#status;
  }

  async enumerate(cursor: EnumCursor, limit: number): Promise<EnumerationBatch> {
    const position = cursor.take();
    if (position.at === 'done') return { objects: [], problems: [], cursor: EnumCursor.done() };
    const state = position.at === 'continue' ? position.state : null;
    if (state === null || state !== this.#state) await this.#closePart();
    const repositories = (this.#repositories ??= await this.#listRepositories());
    if (repositories.length === 0) return this.#nothing();
    const place = this.#open?.place ?? this.#placeOf(state, repositories);
    if (place === null) return this.#end();
    const at = this.#indexes.get(place.repository)!;
    const repository = repositories[at]!;
    const part = (this.#open ??= { place, part: this.#partOf(repository, place.part) }).part;
    this.#show(part, at, repositories.length);
    const batch = await this.#batchOf(part, place, repository, limit);
    this.#status = null;
    return this.#returned(batch, part, place, repositories);
  }

  async close(): Promise<void> {
    await this.#client.close();
    await this.#closePart();
    if (this.#directory !== null) rmSync(this.#directory, { recursive: true, force: true });
    this.#directory = null;
  }

  /** The objects of a clone are scanned before the next part begins, which removes it. */
  async #returned(
    { objects, problems, position, isHeavy = false }: PartBatch,
    part: ForgePart,
    place: Place,
    repositories: readonly ForgeRepository[],
  ): Promise<EnumerationBatch> {
    if (position !== null) {
      place.within = position;
      this.#state = stateOf(place);
      return { objects, problems, cursor: EnumCursor.continue(this.#state), removes: isHeavy };
    }
    const next = this.#following(place, repositories);
    // The part is closed by the next call.
    this.#state = null;
    if (!part.removes) await this.#closePart();
    const cursor = next === null && !part.removes ? EnumCursor.done() : EnumCursor.continue(stateOf(next ?? END));
    return { objects, problems, cursor, removes: isHeavy || part.removes };
  }

  async #batchOf(part: ForgePart, place: Place, repository: ForgeRepository, limit: number): Promise<PartBatch> {
    try {
      const batch = await part.list(place.within, limit);
      this.#failures = 0;
      return batch;
    } catch (error) {
      if (error instanceof ForgeOutage || this.#client.signal.aborted) throw error;
      const path = this.#labelOf(repository, place.part);
      const message =
        place.part === 'code' || place.part === 'wiki' ? messageOf(error) : `${place.part}: ${messageOf(error)}`;
      if (!(error instanceof ForgeRefusal)) this.#failures += 1;
      if (this.#failures >= FAILURES_MAX)
        throw new Error(`the last ${FAILURES_MAX} repositories could not be read; ${message}`, { cause: error });
      const extent = place.within === null ? 'skipped' : 'partial';
      return { objects: [], problems: [{ code: 'source_failed', path, message, extent }], position: null };
    }
  }

  async #closePart(): Promise<void> {
    const open = this.#open;
    this.#open = null;
    this.#state = null;
    await open?.part.close();
  }

  async #end(): Promise<EnumerationBatch> {
    await this.#closePart();
    return { objects: [], problems: [], cursor: EnumCursor.done() };
  }

  #nothing(): EnumerationBatch {
    const token = FORGE_TOKENS[this.#spec.type];
    const advice = this.#client.hasToken ? `check what the token in ${token} may read` : `set ${token}`;
    const message = `no repositories can be seen; ${advice}`;
    return {
      objects: [],
      problems: [{ code: 'source_failed', path: this.name, message, extent: 'partial' }],
      cursor: EnumCursor.done(),
    };
  }

  async #listRepositories(): Promise<readonly ForgeRepository[]> {
    const { include_forks: withForks = false, skip_archived: skipsArchived = false, owner } = this.#spec;
    const found = new Map<number, ForgeRepository>();
    this.#status = `listing the repositories of ${this.name}`;
    for await (const page of this.#api.repositories()) {
      for (const repository of page) found.set(repository.id, repository);
      if (found.size > REPOSITORIES_MAX) throw new Error(`${this.name} has more than ${REPOSITORIES_MAX} repositories`);
    }
    const isNamed = found.size === 1 && [...found.values()][0]!.name.toLowerCase() === owner.toLowerCase();
    const wanted = [...found.values()].filter(
      ({ is_fork: isFork, is_archived: isArchived }) =>
        isNamed || ((withForks || !isFork) && !(skipsArchived && isArchived)),
    );
    wanted.sort((one, other) => one.id - other.id);
    this.#indexes = new Map(wanted.map(({ id }, index) => [id, index]));
    return wanted;
  }

  /** Returns the place of a cursor; its repository may have been deleted. */
  #placeOf(state: CursorState | null, repositories: readonly ForgeRepository[]): Place | null {
    if (state === null) return beginningOf(repositories[0]!, this.#partsOf(repositories[0]!));
    if (state.type !== 'token') throw new Error(`${this.name}: the cursor belongs to another source (${state.type})`);
    const place = JSON.parse(state.token ?? '{}') as Place;
    const repository = repositories.find(({ id }) => id >= place.repository);
    if (repository === undefined) return null;
    if (repository.id === place.repository && this.#partsOf(repository).includes(place.part)) return place;
    return beginningOf(repository, this.#partsOf(repository));
  }

  #following({ repository: id, part }: Place, repositories: readonly ForgeRepository[]): Place | null {
    const at = this.#indexes.get(id)!;
    const parts = this.#partsOf(repositories[at]!);
    const next = parts[parts.indexOf(part) + 1];
    if (next !== undefined) return { repository: id, part: next, within: null };
    const following = repositories[at + 1];
    return following === undefined ? null : beginningOf(following, this.#partsOf(following));
  }

  #partsOf({ has_code: hasCode, has_wiki: hasWiki, feeds }: ForgeRepository): string[] {
    const { skip_wikis: skipsWikis = false, skip_issues: skipsIssues = false } = this.#spec;
    const parts = [
      ...(hasCode ? ['code'] : []),
      ...(hasWiki && !skipsWikis ? ['wiki'] : []),
      ...(skipsIssues ? [] : feeds),
    ];
    // Without any, the history says why there is nothing.
    return parts.length === 0 ? ['code'] : parts;
  }

  #partOf(repository: ForgeRepository, part: string): ForgePart {
    const label = this.#labelOf(repository, part);
    if (part !== 'code' && part !== 'wiki') return new FeedPart({ api: this.#api, repository, feed: part, label });
    this.#directory ??= mkdtempSync(join(tmpdir(), 'heddle-scan-'));
    this.#clones += 1;
    const isWiki = part === 'wiki';
    const { web } = this.#client.address;
    return new HistoryPart({
      client: this.#client,
      url: `${web}/${repository.name}${isWiki ? '.wiki' : ''}`,
      label,
      clone: join(this.#directory, `${this.#clones}.git`),
      bytesMax: this.#spec.clone_bytes_max,
      isOptional: isWiki,
      pageOf: (commit, file) => (isWiki ? null : this.#api.commitUrl(repository.name, commit, file)),
    });
  }

  #labelOf({ name }: ForgeRepository, part: string): string {
    return `${this.#host}/${name}${part === 'wiki' ? '.wiki' : ''}`;
  }

  #show({ status }: ForgePart, at: number, count: number): void {
    this.#status = status === null ? null : `${status}, repository ${at + 1} of ${count}`;
  }
}

/** After every repository. */
const END: Place = { repository: Number.MAX_SAFE_INTEGER, part: '', within: null };

function beginningOf({ id }: ForgeRepository, [part]: readonly string[]): Place {
  return { repository: id, part: part!, within: null };
}

function stateOf(place: Place): CursorState {
  return { type: 'token', token: JSON.stringify(place), skip: 0 };
}
