import { access, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

import { errorOf } from '@heddle/base/thrown';
import type { ArtifactContent, BlobStore, ReceivedBlob } from '@heddle/core/engine/port';
import { writeContent } from './content.ts';
import { removeOldFiles } from './spool.ts';

const UNFINISHED = 'unfinished';
const DIGEST = /^[0-9a-f]{64}$/;

/** Contents as files of a directory: `ab/abcdef…`. Several processes may share it. */
export class ArtifactFiles implements BlobStore {
  readonly #directory: string;
  readonly #newId: () => string;
  /** Only servers reach the directory. */
  readonly direct = null;

  constructor(directory: string, newId: () => string) {
    this.#directory = directory;
    this.#newId = newId;
  }

  async receive(content: ArtifactContent, bytesMax: number): Promise<ReceivedBlob> {
    const folder = join(this.#directory, UNFINISHED);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, this.#newId());
    const file = await open(path, 'wx', 0o600);
    try {
      const written = await writeContent(file, content, bytesMax);
      await file.sync();
      return {
        ...written,
        keep: () => this.#keep(path, written.digest),
        discard: () => rm(path, { force: true }),
      };
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    } finally {
      await file.close();
    }
  }

  async #keep(path: string, digest: Buffer): Promise<void> {
    const target = this.#pathOf(digest);
    const folder = join(target, '..');
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // A transaction that ran again may have stored it already.
    await rename(path, target).catch((error: unknown) => access(target).catch(() => Promise.reject(errorOf(error))));
    const directory = await open(folder);
    await directory.sync().finally(() => directory.close());
  }

  async read(digest: Buffer): Promise<Readable> {
    const file = await open(this.#pathOf(digest)).catch((error: unknown) => {
      throw new Error(`the content of the artifact is missing in ${this.#directory}`, { cause: error });
    });
    return file.createReadStream();
  }

  async remove(digests: readonly Buffer[]): Promise<void> {
    for (const digest of digests) await rm(this.#pathOf(digest), { force: true });
  }

  async *list(before: number): AsyncGenerator<Buffer[]> {
    for (const folder of await namesIn(this.#directory)) {
      if (folder.length !== 2) continue;
      const digests: Buffer[] = [];
      for (const name of await namesIn(join(this.#directory, folder))) {
        const found = await stat(join(this.#directory, folder, name)).catch(() => null);
        if (found !== null && found.mtimeMs < before && DIGEST.test(name)) digests.push(Buffer.from(name, 'hex'));
      }
      yield digests;
    }
  }

  removeUnfinished(before: number): Promise<void> {
    return removeOldFiles(join(this.#directory, UNFINISHED), before);
  }

  #pathOf(digest: Buffer): string {
    const hex = digest.toString('hex');
    return join(this.#directory, hex.slice(0, 2), hex);
  }
}

async function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []);
}
