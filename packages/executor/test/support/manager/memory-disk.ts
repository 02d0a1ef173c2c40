import type { JournalFile, JournalFiles } from '../../../src/manager/journal/files.ts';

/** When the process dies: at which write, and after how many of its bytes. */
export interface CrashPoint {
  readonly write: number;
  readonly bytes: number;
}

/** An in-memory disk on which the process can die during any write, or a write can fail. */
export class MemoryDisk implements JournalFiles {
  readonly #files = new Map<string, Buffer>();
  /** Number of writes so far. */
  writes = 0;
  crash: CrashPoint | null = null;
  /** Error of the next writes, set by a test. */
  failure: Error | null = null;
  /** Whether the bytes of a failing write are stored anyway. */
  keepsFailedBytes = false;
  #dead = false;
  #onDeath: (() => void) | null = null;

  get isDead(): boolean {
    return this.#dead;
  }

  get bytes(): number {
    return [...this.#files.values()].reduce((sum, { length }) => sum + length, 0);
  }

  get names(): string[] {
    return [...this.#files.keys()];
  }

  /** Resolves when the process has died. */
  death(): Promise<void> {
    return this.#dead ? Promise.resolve() : new Promise((reported) => (this.#onDeath = reported));
  }

  /** Kills the process. */
  die(): void {
    this.#dead = true;
    this.#onDeath?.();
  }

  /** Returns the disk as the next process finds it. */
  afterDeath(): MemoryDisk {
    const next = new MemoryDisk();
    for (const [name, bytes] of this.#files) next.#files.set(name, Buffer.from(bytes));
    return next;
  }

  /** Changes one byte. */
  flip(name: string, at: number): void {
    const bytes = this.#files.get(name)!;
    bytes[at] = bytes[at]! ^ 0x55;
  }

  list(): Promise<readonly string[]> {
    return this.#alive([...this.#files.keys()]);
  }

  size(name: string): Promise<number> {
    return this.#alive(this.#file(name).length);
  }

  read(name: string, at: number, length: number): Promise<Buffer> {
    return this.#alive(Buffer.from(this.#file(name).subarray(at, at + length)));
  }

  remove(name: string): Promise<void> {
    if (!this.#dead) this.#files.delete(name);
    return this.#alive(undefined);
  }

  async create(name: string): Promise<JournalFile> {
    if (this.failure !== null) throw this.failure;
    if (this.#files.has(name)) throw new Error(`${name} already exists`);
    if (!this.#dead) this.#files.set(name, Buffer.alloc(0));
    return await this.#alive({
      write: (bytes, at) => this.#write(name, bytes, at),
      truncate: (size) => {
        if (!this.#dead) this.#files.set(name, Buffer.from(this.#file(name).subarray(0, size)));
        return this.failure === null ? this.#alive(undefined) : Promise.reject(this.failure);
      },
      close: () => this.#alive(undefined),
    });
  }

  /** Called for each write. */
  noteWrite(_bytes: Uint8Array): void {
    // Overridden to count writes.
  }

  #write(name: string, bytes: Uint8Array, at: number): Promise<void> {
    if (this.#dead) return this.#alive(undefined);
    this.writes += 1;
    this.noteWrite(bytes);
    const isLast = this.crash?.write === this.writes;
    const kept = isLast ? bytes.subarray(0, this.crash!.bytes) : bytes;
    if (this.failure !== null && !this.keepsFailedBytes) return Promise.reject(this.failure);
    this.#files.set(name, Buffer.concat([this.#file(name).subarray(0, at), kept]));
    if (this.failure !== null) return Promise.reject(this.failure);
    if (isLast) this.die();
    return this.#alive(undefined);
  }

  #file(name: string): Buffer {
    const bytes = this.#files.get(name);
    if (bytes === undefined) throw new Error(`no file ${name}`);
    return bytes;
  }

  /** A dead process is never notified. */
  #alive<T>(value: T): Promise<T> {
    return this.#dead ? new Promise(() => undefined) : Promise.resolve(value);
  }
}
