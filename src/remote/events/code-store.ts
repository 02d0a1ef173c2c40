import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import type { Clock } from '../../runtime/clock.ts';
import { codeDigest, directoryFingerprint, readCodeFiles, walk } from './code-digest.ts';
import { CodeFault } from './code-fault.ts';
import type { CodeLimits } from './code-limits.ts';
import { CodeWriter } from './code-writer.ts';

/** Pulls under way, and what is being deleted, stand beside the code under names that no digest has. */
const INCOMING = '.incoming-';
const OUTGOING = '.outgoing-';
/** A changed file is noticed at the first use after so long; larger code is looked at less often. */
const LOOK_EVERY_MS = 1_000;
const LOOK_MS_PER_FILE = 5;

/** Code in the store. */
export interface StoredCode {
  readonly digest: string;
  readonly directory: string;
  /** Paths of its files. */
  readonly files: readonly string[];
}

interface Kept extends StoredCode {
  /** Never evicted for being idle. */
  pinned: boolean;
  uses: number;
  lastUsedMs: number;
  fingerprint: string;
  lookedAtMs: number;
  /** A look under way, shared by all who ask. */
  look: Promise<boolean> | null;
}

/**
 * Code on disk, each in a directory named by its digest and read-only. It is there whole or not at all: it is written
 * beside, and renamed.
 */
export class CodeStore {
  readonly #directory: string;
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();
  #outgoing = 0;
  /** What moves directories happens one after the other. */
  #moves: Promise<unknown> = Promise.resolve();

  private constructor(directory: string, clock: Clock) {
    this.#directory = directory;
    this.#clock = clock;
  }

  /** Makes the directory where it is not there. */
  static async open(directory: string, clock: Clock): Promise<CodeStore> {
    await mkdir(directory, { recursive: true, mode: 0o711 });
    const store = new CodeStore(directory, clock);
    for (const name of await readdir(directory)) {
      if (name.startsWith(INCOMING) || name.startsWith(OUTGOING)) await removeTree(join(directory, name));
    }
    return store;
  }

  /** An empty directory beside the code; to be adopted or dropped. */
  async incoming(limits: CodeLimits): Promise<CodeWriter> {
    return new CodeWriter(await mkdtemp(join(this.#directory, INCOMING)), limits);
  }

  async drop(writer: CodeWriter): Promise<void> {
    await removeTree(writer.directory);
  }

  /** Takes what was written into the store, or drops it where the same code is there and sound. */
  adopt(writer: CodeWriter, pinned: boolean): Promise<StoredCode> {
    const digest = writer.digest();
    const files = writer.files.map(({ path }) => path);
    return this.#alone(async () => {
      if (this.#kept.has(digest) || (await this.#isSoundOnDisk(digest))) await this.drop(writer);
      else {
        await this.#remove(digest);
        await makeReadOnly(writer.directory);
        const directory = join(this.#directory, digest);
        await rename(writer.directory, directory);
        await chmod(directory, 0o555);
      }
      return this.#keep(digest, files, pinned);
    });
  }

  /** Code of an earlier run of the executor; null where it is not there, or not what its name says. */
  async recover(digest: string, pinned: boolean): Promise<StoredCode | null> {
    if (!/^[0-9a-f]{64}$/.test(digest) || !(await this.#isSoundOnDisk(digest))) return null;
    const files = await readCodeFiles(join(this.#directory, digest));
    return this.#keep(
      digest,
      files.map(({ path }) => path),
      pinned,
    );
  }

  find(digest: string): StoredCode | null {
    return this.#kept.get(digest) ?? null;
  }

  /** Holds code in the store until the result is called; null where it is not there. */
  hold(digest: string): (() => void) | null {
    const kept = this.#kept.get(digest);
    if (kept === undefined) return null;
    kept.uses += 1;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      kept.uses -= 1;
      kept.lastUsedMs = this.#clock.monotonic();
    };
  }

  /** Whether the files are still those that the digest was made of; looks at the disk about once a second. */
  isSound(digest: string): Promise<boolean> {
    const kept = this.#kept.get(digest);
    if (kept === undefined) return Promise.resolve(false);
    const everyMs = Math.max(LOOK_EVERY_MS, kept.files.length * LOOK_MS_PER_FILE);
    if (this.#clock.monotonic() - kept.lookedAtMs < everyMs) return Promise.resolve(true);
    kept.look ??= this.#look(kept).finally(() => (kept.look = null));
    return kept.look;
  }

  /** @throws CodeFault where it is in use */
  discard(digest: string): Promise<void> {
    return this.#alone(async () => {
      const kept = this.#kept.get(digest);
      if (kept === undefined) return;
      if (kept.uses > 0) throw new CodeFault('its code was changed on disk, and is in use');
      this.#kept.delete(digest);
      await this.#remove(digest);
    });
  }

  /** Deletes what is not pinned and was used by nobody for so long; answers the digests. */
  evictIdle(ttlMs: number): Promise<string[]> {
    return this.#alone(async () => {
      const now = this.#clock.monotonic();
      const idle = [...this.#kept.values()].filter(
        ({ pinned, uses, lastUsedMs }) => !pinned && uses === 0 && now - lastUsedMs >= ttlMs,
      );
      const gone = idle.map(({ digest }) => digest);
      // All are out of the map before the first wait, so that nobody can take hold of what is being deleted.
      for (const digest of gone) this.#kept.delete(digest);
      for (const digest of gone) await this.#remove(digest);
      return gone;
    });
  }

  /** Deletes every directory of code that is not kept. */
  clearOthers(): Promise<void> {
    return this.#alone(async () => {
      for (const name of await readdir(this.#directory)) {
        if (/^[0-9a-f]{64}$/.test(name) && !this.#kept.has(name)) await this.#remove(name);
      }
    });
  }

  #alone<T>(move: () => Promise<T>): Promise<T> {
    const moved = this.#moves.then(move);
    this.#moves = moved.catch(() => undefined);
    return moved;
  }

  async #keep(digest: string, files: readonly string[], pinned: boolean): Promise<StoredCode> {
    const there = this.#kept.get(digest);
    if (there !== undefined) {
      there.pinned ||= pinned;
      there.lastUsedMs = this.#clock.monotonic();
      return there;
    }
    const directory = join(this.#directory, digest);
    const fingerprint = await directoryFingerprint(directory);
    const now = this.#clock.monotonic();
    const kept = {
      digest,
      directory,
      files,
      pinned,
      uses: 0,
      lastUsedMs: now,
      fingerprint,
      lookedAtMs: now,
      look: null,
    };
    this.#kept.set(digest, kept);
    return kept;
  }

  async #look(kept: Kept): Promise<boolean> {
    const fingerprint = await directoryFingerprint(kept.directory).catch(() => null);
    const sound = fingerprint === kept.fingerprint || (await this.#isSoundOnDisk(kept.digest));
    if (sound && fingerprint !== null) {
      kept.fingerprint = fingerprint;
      kept.lookedAtMs = this.#clock.monotonic();
    }
    return sound;
  }

  async #isSoundOnDisk(digest: string): Promise<boolean> {
    try {
      return codeDigest(await readCodeFiles(join(this.#directory, digest))) === digest;
    } catch {
      return false;
    }
  }

  async #remove(digest: string): Promise<void> {
    this.#outgoing += 1;
    const aside = join(this.#directory, `${OUTGOING}${this.#outgoing}-${digest}`);
    const directory = join(this.#directory, digest);
    // A directory that may not be written to cannot be moved either.
    await chmod(directory, 0o755).catch(() => undefined);
    await rename(directory, aside).catch(() => undefined);
    await removeTree(aside);
  }
}

async function makeReadOnly(directory: string): Promise<void> {
  for await (const { path, kind } of walk(directory, '')) {
    await chmod(join(directory, path), kind === 'directory' ? 0o555 : 0o444);
  }
}

/** Deletes a tree whose directories may be read-only. */
async function removeTree(directory: string): Promise<void> {
  try {
    await chmod(directory, 0o755);
    for await (const { path, kind } of walk(directory, '')) {
      if (kind === 'directory') await chmod(join(directory, path), 0o755);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  await rm(directory, { recursive: true, force: true });
}
