import type { Problem } from '../../result.ts';
import { ObjectFault, type ObjectOpener, type ObjectReader } from '../port.ts';
import { type GitChild, startGit } from './command.ts';
import { inspectRepository } from './repository.ts';

/** Bytes of an unfinished blob that are read and discarded on close; for more, git is restarted. */
const DISCARD_BYTES_MAX = 4 * 1024 * 1024;
const HEADER_BYTES_MAX = 1024;
/** Ids that are sent together, unless git has answered all others: a write of each costs more than most blobs. */
const IDS_PER_WRITE = 16;
const READ_TYPES: readonly string[] = ['blob', 'commit', 'tag'];

/** Reads blobs, commits and tags by id, one at a time, from one `git cat-file` process. */
export class BlobOpener implements ObjectOpener {
  readonly #repository: string;
  #batch: BlobStream | null = null;
  /** Requests that wait for the current blob to be closed. */
  #turn: Promise<void> = Promise.resolve();

  private constructor(repository: string) {
    this.#repository = repository;
  }

  static async open({ repository }: { repository: string }): Promise<BlobOpener> {
    await inspectRepository(repository);
    return new BlobOpener(repository);
  }

  /** Waits while another blob is being read; the request is sent at once, so that git works ahead. */
  async open({ path, locator }: { path: string; locator: string }): Promise<ObjectReader> {
    const before = this.#turn;
    const { promise, resolve: release } = Promise.withResolvers<undefined>();
    this.#turn = promise;
    const asked = this.#ask(null, locator);
    await before;
    try {
      const batch = this.#ask(asked, locator);
      const size = await batch.begin();
      if (size === null) throw new ObjectFault(missing(path, locator));
      return new BlobReader({ path, size, batch, done: (isClean) => this.#finish(isClean, release) });
    } catch (error) {
      const isFault = error instanceof ObjectFault;
      await this.#finish(isFault, release);
      throw isFault ? error : new ObjectFault(broken(path, error, 'skipped'), error);
    }
  }

  async close(): Promise<void> {
    await this.#finish(false, () => undefined);
  }

  /** Returns the stream to which a blob was requested: a new one if the previous one was abandoned. */
  #ask(before: BlobStream | null, id: string): BlobStream {
    if (before !== null && before === this.#batch) return before;
    this.#batch ??= new BlobStream(this.#repository);
    this.#batch.ask(id);
    return this.#batch;
  }

  async #finish(isClean: boolean, release: (value: undefined) => void): Promise<void> {
    const batch = this.#batch;
    if (!isClean) this.#batch = null;
    release(undefined);
    if (!isClean) await batch?.stop();
  }
}

interface BlobReaderOptions {
  path: string;
  size: number;
  batch: BlobStream;
  /** Receives false if the stream cannot be used for the next blob. */
  done: (isClean: boolean) => Promise<void>;
}

class BlobReader implements ObjectReader {
  readonly size: number;
  readonly access = 'carry';
  readonly #options: BlobReaderOptions;
  #left: number;
  #failed = false;

  constructor(options: BlobReaderOptions) {
    this.#options = options;
    this.size = options.size;
    this.#left = options.size;
  }

  async read(target: Uint8Array, start: number, length: number): Promise<number> {
    if (this.#left === 0) return 0;
    try {
      const count = await this.#options.batch.read(target, start, Math.min(length, this.#left));
      this.#left -= count;
      return count;
    } catch (error) {
      this.#failed = true;
      throw new ObjectFault(broken(this.#options.path, error, this.#left === this.size ? 'skipped' : 'partial'), error);
    }
  }

  async close(): Promise<undefined> {
    const { batch, done } = this.#options;
    let isClean = false;
    try {
      if (!this.#failed && this.#left <= DISCARD_BYTES_MAX) {
        await batch.end(this.#left);
        isClean = true;
      }
    } catch {
      // The blob was read completely or is not needed; the next blob has its own process.
    }
    await done(isClean);
  }
}

/** The protocol of `git cat-file --batch`: an id in; `ID blob SIZE`, the content and a newline out. */
class BlobStream {
  readonly #child: GitChild;
  #ended = false;
  #wake: (() => void) | null = null;
  #unsent = '';
  #unsentCount = 0;

  constructor(repository: string) {
    this.#child = startGit(repository, ['cat-file', '--batch']);
    const { stdout } = this.#child.process;
    stdout.on('readable', () => this.#wake?.());
    const end = (): void => {
      this.#ended = true;
      this.#wake?.();
    };
    stdout.on('end', end);
    stdout.on('close', end);
  }

  ask(id: string): void {
    this.#unsent += `${id}\n`;
    this.#unsentCount += 1;
    if (this.#unsentCount >= IDS_PER_WRITE) this.#send();
  }

  #send(): void {
    if (this.#unsentCount === 0) return;
    this.#child.process.stdin.write(this.#unsent);
    this.#unsent = '';
    this.#unsentCount = 0;
  }

  /** Returns the size of the next requested blob; null if it does not exist. */
  async begin(): Promise<number | null> {
    let line = '';
    for (;;) {
      const piece = await this.#some(HEADER_BYTES_MAX);
      const end = piece.indexOf(0x0a);
      line += piece.toString('latin1', 0, end === -1 ? piece.length : end);
      if (end !== -1) {
        if (end + 1 < piece.length) this.#child.process.stdout.unshift(piece.subarray(end + 1));
        break;
      }
      if (line.length > HEADER_BYTES_MAX) throw new Error('git returned unexpected output');
    }
    const [, type, size] = line.split(' ');
    if (type === 'missing') return null;
    if (type === undefined || !READ_TYPES.includes(type)) throw new Error(`the object has no content to scan: ${line}`);
    return Number(size);
  }

  async read(target: Uint8Array, start: number, length: number): Promise<number> {
    const piece = await this.#some(length);
    target.set(piece, start);
    return piece.length;
  }

  /** Skips the rest of a blob and the newline after it. */
  async end(left: number): Promise<void> {
    for (let rest = left + 1; rest > 0;) rest -= (await this.#some(rest)).length;
  }

  stop(): Promise<void> {
    return this.#child.stop();
  }

  /** Reads at least one byte, at most `length`. */
  async #some(length: number): Promise<Buffer> {
    const { stdout } = this.#child.process;
    for (;;) {
      const there = Math.min(length, stdout.readableLength);
      const piece = (there === 0 ? stdout.read() : stdout.read(there)) as Buffer | null;
      if (piece !== null) {
        if (piece.length <= length) return piece;
        stdout.unshift(piece.subarray(length));
        return piece.subarray(0, length);
      }
      this.#send();
      if (this.#ended) throw new Error((await this.#child.ended) ?? 'git exited early');
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

function missing(path: string, id: string): Problem {
  const message =
    `the object ${id} is missing or damaged; run git fsck for details, ` +
    'or git fetch --refetch to complete a partial clone';
  return { code: 'unreadable', path, message, extent: 'skipped' };
}

function broken(path: string, error: unknown, extent: 'skipped' | 'partial'): Problem {
  return { code: 'unreadable', path, message: (error as Error).message, extent };
}
