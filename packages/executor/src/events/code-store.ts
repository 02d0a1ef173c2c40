import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import type { Clock } from '@heddle/base/clock';
import { codeDigest, directoryFingerprint, readCodeFiles, walk } from './code-digest.ts';
import { CodeFault } from './code-fault.ts';
import type { CodeLimits } from './code-limits.ts';
import { CodeWriter } from './code-writer.ts';

/** Prefixes of directories for pulls in progress and for deletions; no digest has such a name. */
const INCOMING = '.incoming-';
const OUTGOING = '.outgoing-';
/** Interval between checks for changed files; longer for code with many files. */
const CHECK_INTERVAL_MS = 1_000;
const CHECK_MS_PER_FILE = 5;

/** Code in the store. */
export interface StoredCode {
  readonly digest: string;
  readonly directory: string;
  /** Paths of its files. */
  readonly files: readonly string[];
}

interface TrackedCode extends StoredCode {
  /** Exempt from eviction. */
  pinned: boolean;
  uses: number;
  lastUsedMs: number;
  fingerprint: string;
  checkedAtMs: number;
  /** Check in progress, shared by all callers. */
  check: Promise<boolean> | null;
}

/**
 * Stores code on disk, in read-only directories named by digest. Each is complete or absent: it is written under
 * another name and then renamed.
 */
export class CodeStore {
  readonly #directory: string;
  readonly #clock: Clock;
  readonly #codes = new Map<string, TrackedCode>();
  #outgoing = 0;
  /** Serializes operations that move directories. */
  #moves: Promise<unknown> = Promise.resolve();

  private constructor(directory: string, clock: Clock) {
    this.#directory = directory;
    this.#clock = clock;
  }

  /** Opens the store and creates its directory if missing. */
  static async open(directory: string, clock: Clock): Promise<CodeStore> {
    await mkdir(directory, { recursive: true, mode: 0o711 });
    const store = new CodeStore(directory, clock);
    for (const name of await readdir(directory)) {
      if (name.startsWith(INCOMING) || name.startsWith(OUTGOING)) await removeTree(join(directory, name));
    }
    return store;
  }

  /** Creates an empty directory for a pull, to be adopted or dropped. */
  async incoming(limits: CodeLimits): Promise<CodeWriter> {
    return new CodeWriter(await mkdtemp(join(this.#directory, INCOMING)), limits);
  }

  async drop(writer: CodeWriter): Promise<void> {
    await removeTree(writer.directory);
  }

  /** Moves written code into the store, or drops it if intact code with the same digest exists. */
  adopt(writer: CodeWriter, pinned: boolean): Promise<StoredCode> {
    const digest = writer.digest();
    const files = writer.files.map(({ path }) => path);
    return this.#serialize(async () => {
      if (this.#codes.has(digest) || (await this.#isSoundOnDisk(digest))) await this.drop(writer);
      else {
        await this.#remove(digest);
        await makeReadOnly(writer.directory);
        const directory = join(this.#directory, digest);
        await rename(writer.directory, directory);
        await chmod(directory, 0o555);
      }
      return this.#track(digest, files, pinned);
    });
  }

  /** Returns code stored by an earlier run of the executor; null if it is missing or does not match its digest. */
  async recover(digest: string, pinned: boolean): Promise<StoredCode | null> {
    if (!/^[0-9a-f]{64}$/.test(digest) || !(await this.#isSoundOnDisk(digest))) return null;
    const files = await readCodeFiles(join(this.#directory, digest));
    return this.#track(
      digest,
      files.map(({ path }) => path),
      pinned,
    );
  }

  find(digest: string): StoredCode | null {
    return this.#codes.get(digest) ?? null;
  }

  /** Keeps code in the store until the returned function is called; null if it is not stored. */
  hold(digest: string): (() => void) | null {
    const kept = this.#codes.get(digest);
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

  /** Returns whether the files still match the digest; checks the disk about once a second. */
  isSound(digest: string): Promise<boolean> {
    const kept = this.#codes.get(digest);
    if (kept === undefined) return Promise.resolve(false);
    const everyMs = Math.max(CHECK_INTERVAL_MS, kept.files.length * CHECK_MS_PER_FILE);
    if (this.#clock.monotonic() - kept.checkedAtMs < everyMs) return Promise.resolve(true);
    kept.check ??= this.#check(kept).finally(() => (kept.check = null));
    return kept.check;
  }

  /** Removes damaged code. @throws CodeFault if it is in use */
  discard(digest: string): Promise<void> {
    return this.#serialize(async () => {
      const kept = this.#codes.get(digest);
      if (kept === undefined) return;
      if (kept.uses > 0) throw new CodeFault('its code was changed on disk while in use');
      this.#codes.delete(digest);
      await this.#remove(digest);
    });
  }

  /** Evicts unpinned code that was idle for `ttlMs`; returns the digests. */
  evictIdle(ttlMs: number): Promise<string[]> {
    return this.#serialize(async () => {
      const now = this.#clock.monotonic();
      const idle = [...this.#codes.values()].filter(
        ({ pinned, uses, lastUsedMs }) => !pinned && uses === 0 && now - lastUsedMs >= ttlMs,
      );
      const gone = idle.map(({ digest }) => digest);
      // All digests leave the map before the first await, so that no caller can hold code that is being deleted.
      for (const digest of gone) this.#codes.delete(digest);
      for (const digest of gone) await this.#remove(digest);
      return gone;
    });
  }

  /** Deletes every code directory that is not tracked. */
  clearOthers(): Promise<void> {
    return this.#serialize(async () => {
      for (const name of await readdir(this.#directory)) {
        if (/^[0-9a-f]{64}$/.test(name) && !this.#codes.has(name)) await this.#remove(name);
      }
    });
  }

  #serialize<T>(move: () => Promise<T>): Promise<T> {
    const moved = this.#moves.then(move);
    this.#moves = moved.catch(() => undefined);
    return moved;
  }

  async #track(digest: string, files: readonly string[], pinned: boolean): Promise<StoredCode> {
    const there = this.#codes.get(digest);
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
      checkedAtMs: now,
      check: null,
    };
    this.#codes.set(digest, kept);
    return kept;
  }

  async #check(kept: TrackedCode): Promise<boolean> {
    const fingerprint = await directoryFingerprint(kept.directory).catch(() => null);
    const sound = fingerprint === kept.fingerprint || (await this.#isSoundOnDisk(kept.digest));
    if (sound && fingerprint !== null) {
      kept.fingerprint = fingerprint;
      kept.checkedAtMs = this.#clock.monotonic();
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
    // A directory without write permission cannot be moved.
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
