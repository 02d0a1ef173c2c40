import { rmSync } from 'node:fs';

import { type CursorState, EnumCursor } from '../../graph/cursor.ts';
import type { Problem } from '../../result.ts';
import { isCommitPath } from '../commit-path.ts';
import { GitSource, HistoryChanged } from '../git/git.ts';
import type { DiscoveredObject } from '../port.ts';
import { cloneRepository } from './clone.ts';
import type { ForgeClient } from './client.ts';
import { writeLocator } from './locator.ts';
import type { ForgePart, PartBatch } from './part.ts';

export interface HistoryOptions {
  client: ForgeClient;
  /** Of the repository, without `.git`. */
  url: string;
  /** Begins the paths of its objects: `github.com/acme/shop`. */
  label: string;
  /** Where the clone is made; no other one was there before, since it may still be open. */
  clone: string;
  bytesMax: number;
  /** Many repositories have no wiki, whatever the forge says. */
  isOptional: boolean;
  /** The page of a file in a commit, or of the commit; null if there is none. */
  pageOf: (commit: string, file: string | null) => string | null;
}

/** The history of a repository, in a clone that exists until the part is closed. */
export class HistoryPart implements ForgePart {
  readonly removes = true;
  readonly #options: HistoryOptions;
  #source: GitSource | null = null;
  #cloning: Promise<void> | null = null;

  constructor(options: HistoryOptions) {
    this.#options = options;
  }

  get status(): string | null {
    return this.#source === null ? `cloning ${this.#options.label}` : null;
  }

  async list(position: CursorState | null, limit: number): Promise<PartBatch> {
    if (this.#source === null) {
      if (!(await this.#exists())) return { objects: [], problems: [], position: null };
      await this.#cloneIt();
      this.#source = new GitSource({ type: 'git', repository: this.#options.clone });
    }
    try {
      return await this.#batch(this.#source, position, limit);
    } catch (error) {
      if (!(error instanceof HistoryChanged)) throw error;
      const { problems, ...batch } = await this.#batch(this.#source, null, limit);
      return { ...batch, problems: [this.#changed(), ...problems] };
    }
  }

  /** A clone under way has been aborted by then. */
  async close(): Promise<void> {
    await this.#cloning?.catch(() => undefined);
    await this.#source?.close();
    this.#source = null;
    rmSync(this.#options.clone, { recursive: true, force: true });
  }

  async #batch(source: GitSource, position: CursorState | null, limit: number): Promise<PartBatch> {
    const from = position === null ? EnumCursor.start() : EnumCursor.continue(position);
    const { objects, problems, cursor } = await source.enumerate(from, limit);
    const next = cursor.toJSON();
    return {
      objects: objects.map((object) => this.#located(object)),
      problems: problems.map((problem) => ({ ...problem, path: `${this.#options.label}/${problem.path}` })),
      position: typeof next === 'string' ? null : next,
    };
  }

  #located({ path, locator, size_hint, commit }: DiscoveredObject): DiscoveredObject {
    const { label, clone, pageOf } = this.#options;
    const found = {
      path: `${label}/${path}`,
      locator: writeLocator({ clone, id: locator }),
      size_hint,
    };
    if (commit === undefined) return found;
    const url = pageOf(commit.id, isCommitPath(path) ? null : path);
    return { ...found, commit: { ...commit, repository: label, ...(url === null ? {} : { url }) } };
  }

  async #exists(): Promise<boolean> {
    const { client, url, isOptional } = this.#options;
    if (!isOptional) return true;
    const status = await client.repositoryStatus(`${url}.git`);
    if (status === 200) return true;
    const isMissing = status === 404 || (status === 401 && !client.hasToken);
    if (isMissing) return false;
    throw new Error(`${url}.git answered with HTTP ${status}`);
  }

  async #cloneIt(): Promise<void> {
    const { client, url, clone, bytesMax } = this.#options;
    this.#cloning = cloneRepository({
      url: `${url}.git`,
      directory: clone,
      authorization: client.gitAuthorization,
      proxy: client.proxyOf(url),
      bytesMax,
      signal: client.signal,
    });
    await this.#cloning;
  }

  #changed(): Problem {
    const message =
      'it has other branches or tags than before the interruption, so its history was scanned from the beginning; ' +
      'some of its findings may be reported twice';
    return { code: 'source_failed', path: this.#options.label, message, extent: 'notice' };
  }
}
