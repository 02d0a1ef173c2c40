import { EnumCursor, type CursorState } from '../../graph/cursor.ts';
import type { Problem } from '../../result.ts';
import { commitPath } from '../commit-path.ts';
import type { DiscoveredObject, EnumerationBatch, ObjectSource } from '../port.ts';
import { type GitChild, startGit } from './command.ts';
import { type Change, COMMIT_FORMAT, HistoryParser, type HistorySink } from './history.ts';
import { tagObjects } from './messages.ts';
import { IdSet } from './id-set.ts';
import {
  digestOf,
  type GitSpec,
  inspectRepository,
  type RepositoryFacts,
  resolveSelection,
  type Selection,
} from './repository.ts';

export const SUBMODULE_MODE = '160000';

/**
 * Lists every blob of a history once, with the oldest commit that contains it and its path there, and every commit and
 * tag message as an object of its own, a commit's before its blobs. Parents precede their children, so the order
 * depends only on the commits. A merge is compared with all its parents at once: it introduces what none of them has.
 */
export class GitSource implements ObjectSource {
  readonly name: string;
  readonly #spec: GitSpec;
  #listing: Listing | null = null;
  /** The cursor that was returned for the listing's current position. */
  #state: CursorState | null = null;

  constructor(spec: GitSpec) {
    this.name = `git:${spec.repository}`;
    this.#spec = spec;
  }

  async enumerate(cursor: EnumCursor, limit: number): Promise<EnumerationBatch> {
    const position = cursor.take();
    if (position.at === 'done') return { objects: [], problems: [], cursor: EnumCursor.done() };
    const state = position.at === 'continue' ? position.state : null;
    if (state === null || state !== this.#state || this.#listing === null) {
      await this.close();
      this.#listing = await Listing.open(this.#spec, state);
    }
    const listing = this.#listing;
    if (listing === null) return { objects: [], problems: [], cursor: EnumCursor.done() };
    const { objects, problems, isDone } = await listing.take(limit);
    if (isDone) {
      await this.close();
      return { objects, problems, cursor: EnumCursor.done() };
    }
    this.#state = { type: 'token', token: listing.token, skip: listing.taken };
    return { objects, problems, cursor: EnumCursor.continue(this.#state) };
  }

  async close(): Promise<void> {
    const listing = this.#listing;
    this.#listing = null;
    this.#state = null;
    await listing?.close();
  }
}

/** The history is another one than that of the cursor. */
export class HistoryChanged extends Error {}

interface Found {
  object: DiscoveredObject | null;
  problem: Problem | null;
}

/** One run of `git log`. */
class Listing {
  /** Identifies the selection, so that a later listing uses the same. */
  readonly token: string;
  /** Objects returned so far, including those of an earlier listing. */
  taken = 0;
  readonly #child: GitChild;
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #parser: HistoryParser;
  readonly #seen: IdSet;
  readonly #digits: number;
  readonly #submodules = new Set<string>();
  readonly #sink: HistorySink = {
    commit: (commit) => this.#add({ path: commitPath(commit), locator: commit.id, size_hint: -1, commit }),
    change: (change) => this.#addChange(change),
  };
  #found: Found[] = [];
  #next = 0;
  #skip: number;
  /** Blobs of no commit, which follow the history. */
  #loose: readonly string[];

  private constructor(
    spec: GitSpec,
    facts: RepositoryFacts,
    selection: Selection,
    tags: readonly DiscoveredObject[],
    skip: number,
  ) {
    this.token = tokenOf(selection);
    this.#loose = selection.blobs;
    this.#skip = skip;
    this.taken = skip;
    this.#digits = facts.digits;
    this.#seen = new IdSet(facts.digits / 2);
    this.#parser = new HistoryParser(facts.digits);
    // Without a revision, git log would list HEAD, which a repository without commits lacks; rev-parse prints nothing.
    const hasHistory = selection.revisions.length > 0;
    this.#child = startGit(spec.repository, hasHistory ? logArguments(selection) : ['rev-parse']);
    this.#child.process.stdin.end(selection.revisions.map((revision) => `${revision}\n`).join(''));
    this.#chunks = this.#child.process.stdout[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    for (const tag of tags) this.#add(tag);
    if (facts.is_shallow && skip === 0) this.#found.push({ object: null, problem: shallow(spec.repository) });
  }

  /** Null if there is nothing to list: a repository without commits. */
  static async open(spec: GitSpec, state: CursorState | null): Promise<Listing | null> {
    if (state !== null && state.type !== 'token')
      throw new Error(`git:${spec.repository}: the cursor belongs to another source (${state.type})`);
    const facts = await inspectRepository(spec.repository);
    const selection = await resolveSelection(spec);
    if (selection.revisions.length === 0 && selection.blobs.length === 0) return null;
    const tags = await tagObjects(spec.repository, selection.revisions);
    if (state === null) return new Listing(spec, facts, selection, tags, 0);
    const since = /since=(\d+)/.exec(state.token ?? '')?.[1];
    const pinned = { ...selection, since: since === undefined ? null : Number(since) };
    if (state.token !== tokenOf(pinned)) {
      throw new HistoryChanged(
        `${spec.repository} has other branches or tags than when the scan started, ` +
          'so the scan cannot resume; start over',
      );
    }
    return new Listing(spec, facts, pinned, tags, state.skip);
  }

  async take(limit: number): Promise<{ objects: DiscoveredObject[]; problems: Problem[]; isDone: boolean }> {
    const objects: DiscoveredObject[] = [];
    const problems: Problem[] = [];
    while (objects.length < limit) {
      if (this.#next < this.#found.length) {
        const { object, problem } = this.#found[this.#next]!;
        this.#next += 1;
        if (object !== null) objects.push(object);
        if (problem !== null) problems.push(problem);
        continue;
      }
      const chunk = await this.#chunks.next();
      if (chunk.done === true) {
        const failure = await this.#child.ended;
        if (failure !== null) throw new Error(failure);
        if (this.#loose.length === 0) return { objects, problems, isDone: true };
        this.#addLoose();
        continue;
      }
      this.#found = [];
      this.#next = 0;
      this.#parser.push(chunk.value, this.#sink);
    }
    this.taken += objects.length;
    return { objects, problems, isDone: false };
  }

  async close(): Promise<void> {
    await this.#child.stop();
  }

  #addChange({ commit, mode, text, start, path }: Change): void {
    if (mode === SUBMODULE_MODE) {
      const name = path.toString('utf8');
      if (this.#submodules.has(name)) return;
      this.#submodules.add(name);
      if (this.#skip === 0) this.#found.push({ object: null, problem: submodule(name) });
      return;
    }
    if (!this.#seen.addHex(text, start)) return;
    const locator = Buffer.from(text.buffer, text.byteOffset + start, this.#digits).toString('latin1');
    this.#add({ path: path.toString('utf8'), locator, size_hint: -1, commit });
  }

  #addLoose(): void {
    this.#found = [];
    this.#next = 0;
    for (const id of this.#loose) {
      if (this.#seen.addHex(Buffer.from(id), 0)) this.#add({ path: `blob:${id}`, locator: id, size_hint: -1 });
    }
    this.#loose = [];
  }

  #add(object: DiscoveredObject): void {
    if (this.#skip > 0) this.#skip -= 1;
    else this.#found.push({ object, problem: null });
  }
}

function tokenOf(selection: Selection): string {
  const since = selection.since === null ? '' : `since=${selection.since},`;
  return `${since}revisions=${digestOf(selection)}`;
}

function logArguments({ since }: Selection): string[] {
  return [
    'log',
    '--stdin',
    '--topo-order',
    '--reverse',
    ...(since === null ? [] : [`--since=${since}`]),
    '-z',
    '-c',
    '--raw',
    '--no-abbrev',
    '--no-renames',
    '--no-relative',
    '--no-ext-diff',
    '--no-textconv',
    '--no-color',
    '--no-decorate',
    '--no-notes',
    '--no-show-signature',
    '--ignore-submodules=none',
    '--encoding=UTF-8',
    `--format=${COMMIT_FORMAT}`,
  ];
}

/** The content of a submodule is in its own repository. */
export function submodule(path: string): Problem {
  const message = 'a submodule; scan its own repository instead';
  return { code: 'link_not_followed', path, message, extent: 'notice' };
}

function shallow(repository: string): Problem {
  const message = 'the clone is shallow and lacks older commits; fetch them with git fetch --unshallow';
  return { code: 'source_failed', path: repository, message, extent: 'notice' };
}
