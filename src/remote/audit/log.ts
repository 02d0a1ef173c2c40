import { constants } from 'node:fs';
import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';

import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Rate } from '../../runtime/rate-buckets.ts';
import { firstLineOf, headOfRotated, readTail, renameDurably, rotatedPath, syncDirectory } from './files.ts';
import { formatLine, type ChainHead } from './line.ts';
import type { AuditEntry, AuditLog } from './port.ts';
import { RejectionLimit } from './rejection-limit.ts';
import { expendable, KEEP_ALL, removeFiles, type AuditRetention } from './retention.ts';

const FILE_BYTES_MAX = 64 * 1024 * 1024;
/** Entries that wait for the disk; beyond it they are counted and lost. */
const WAITING_MAX = 100_000;
const BATCH_MAX = 1_000;
const SYNC_INTERVAL_MS = 200;
const RETRY_MS = 1_000;
/** How often the log tells where the chain stands, so that a copy of the hash is kept where this file is not. */
const HEAD_INTERVAL_MS = 60_000;
/** How often it is looked, while lines are written, whether old files have to go. */
const RETENTION_INTERVAL_MS = 3_600_000;
/** Where lines are kept for so long, a file holds those of a day at most, so that each goes soon after its time. */
const DATED_FILE_MS = 86_400_000;
/** Files of which a log that is kept by its size is made, at least. */
const FILES_MIN = 4;

export interface AuditLogOptions {
  /** The file that is written to; its directory is made. Full files are renamed beside it. */
  path: string;
  clock: Clock;
  log: Logger;
  /** Size at which the file is rotated; default 64 MiB. */
  fileBytesMax?: number;
  /** All of it is kept by default. */
  retention?: AuditRetention;
  /** Refusals of callers that nobody knows; further ones are counted. Default 100 at once and 3 a second. */
  unknownRejections?: Rate;
  /** Told how many entries were lost, because the disk did not take them. */
  onLost?: (count: number) => void;
}

interface Waiting {
  readonly entry: AuditEntry;
  readonly at: number;
}

/**
 * Opens the log and continues its chain. What a crash left of a last line is cut off and noted in the next one.
 *
 * @throws AuditLogDamaged where the last whole line was changed; the error of the system where the file cannot be written
 */
export async function openAuditLog(options: AuditLogOptions): Promise<AuditLog> {
  await mkdir(dirname(options.path), { recursive: true, mode: 0o700 });
  const handle = await openFile(options.path);
  try {
    const { head: ownHead, size, torn } = await readTail(handle, options.path);
    const head = size === 0 ? await headOfRotated(options.path) : ownHead;
    if (torn !== null) await handle.truncate(size);
    const log = new ChainedLog(options, handle, { head, size, first: await firstLineOf(handle) });
    if (torn !== null) {
      options.log.warn({ path: options.path, torn_bytes: torn.bytes }, 'the audit log had a torn last line: cut off');
      const detail = 'the last line was torn: the executor, or its machine, ended while it was written';
      log.append({ action: 'repaired', detail, torn_bytes: torn.bytes, torn_text: torn.text });
    }
    return log;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Not for appending: a write that failed half way is written again at the same place. */
async function openFile(path: string): Promise<FileHandle> {
  const handle = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600);
  await syncDirectory(dirname(path));
  return handle;
}

class ChainedLog implements AuditLog {
  readonly #options: AuditLogOptions;
  readonly #rejections: RejectionLimit;
  #handle: FileHandle;
  #head: ChainHead;
  /** Bytes of whole lines. */
  #size: number;
  /** The file's first line; null while it has none. */
  #first: { readonly seq: number; readonly at: string } | null;
  readonly #retention: AuditRetention;
  /** When it was looked last whether old files have to go, monotonic. */
  #retainedAt = -Infinity;
  #waiting: Waiting[] = [];
  #lost = 0;
  #writing: Promise<void> | null = null;
  #closed = false;
  #syncedAt = -Infinity;
  #cancelSync: (() => void) | null = null;
  #headToldAt = -Infinity;
  readonly #closing = new AbortController();

  constructor(
    options: AuditLogOptions,
    handle: FileHandle,
    at: { head: ChainHead; size: number; first: { seq: number; at: string } | null },
  ) {
    this.#options = options;
    this.#handle = handle;
    this.#head = at.head;
    this.#size = at.size;
    this.#first = at.first;
    this.#retention = options.retention ?? KEEP_ALL;
    this.#rejections = new RejectionLimit(options.clock, options.unknownRejections);
  }

  append(entry: AuditEntry): void {
    if (this.#closed) return;
    for (const kept of this.#rejections.filter(entry)) this.#add(kept);
    this.#writing ??= this.#writeAll();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    for (const kept of this.#rejections.end()) this.#add(kept);
    this.#closed = true;
    // A disk that does not take the rest gets one more try, not an endless one.
    this.#closing.abort();
    await this.#writing;
    if (this.#waiting.length > 0) await this.#writeAll();
    if (this.#waiting.length > 0) this.#lose(this.#waiting.length);
    this.#cancelSync?.();
    await this.#sync();
    await this.#handle.close();
    this.#tellHead(true);
  }

  #add(entry: AuditEntry): void {
    if (this.#waiting.length >= WAITING_MAX) this.#lose(1);
    else this.#waiting.push({ entry, at: this.#options.clock.now() });
  }

  #lose(count: number): void {
    if (this.#lost === 0) {
      this.#options.log.error({ path: this.#options.path }, 'the disk does not take the audit log: entries are lost');
    }
    this.#lost += count;
    this.#options.onLost?.(count);
  }

  async #writeAll(): Promise<void> {
    // What the same turn of code adds belongs to the first write.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      try {
        await this.#writeSome();
      } catch (error) {
        const { path, clock, log } = this.#options;
        log.error({ path, err: error, waiting: this.#waiting.length }, 'the audit log could not be written');
        if (this.#closing.signal.aborted) break;
        await clock.sleep(RETRY_MS, this.#closing.signal);
      }
    }
    this.#writing = null;
  }

  async #writeSome(): Promise<void> {
    if (this.#isFull()) await this.#rotate();
    await this.#retain();
    const batch = this.#waiting.slice(0, BATCH_MAX);
    const lost = this.#lost;
    if (lost > 0) batch.unshift(lossOf(lost, this.#options.clock.now()));
    await this.#chain(batch);
    this.#waiting.splice(0, lost > 0 ? batch.length - 1 : batch.length);
    this.#lost -= lost;
    this.#syncSoon();
    this.#tellHead(false);
  }

  #isFull(): boolean {
    const { fileBytesMax = FILE_BYTES_MAX, clock } = this.#options;
    const { bytesMax, ageMsMax } = this.#retention;
    if (this.#size >= Math.min(fileBytesMax, (bytesMax ?? Infinity) / FILES_MIN)) return true;
    return ageMsMax !== null && this.#first !== null && Date.parse(this.#first.at) < clock.now() - DATED_FILE_MS;
  }

  /** Lets go of old files now and then. That they went is a line of the chain, which is on disk before they are gone. */
  async #retain(): Promise<void> {
    const { path, clock, log } = this.#options;
    if (clock.monotonic() - this.#retainedAt < RETENTION_INTERVAL_MS) return;
    this.#retainedAt = clock.monotonic();
    const now = clock.now();
    try {
      const old = await expendable(path, this.#retention, this.#size, now);
      if (old === null) return;
      await this.#chain([{ entry: old.entry, at: now }]);
      await this.#handle.datasync();
      await removeFiles(old.paths);
      log.info({ files: old.paths }, 'old files of the audit log were deleted, as the settings say');
    } catch (error) {
      // They stay; what is to be written now must not wait for it.
      log.error({ path, err: error }, 'old files of the audit log could not be deleted');
    }
  }

  /** Writes entries as the next lines. */
  async #chain(entries: readonly Waiting[]): Promise<void> {
    let head = this.#head;
    let text = '';
    for (const { entry, at } of entries) {
      const line = formatLine(entry, at, head);
      head = line.head;
      text += line.text;
    }
    await this.#write(Buffer.from(text));
    this.#first ??= { seq: this.#head.seq + 1, at: new Date(entries[0]!.at).toISOString() };
    this.#head = head;
  }

  async #write(bytes: Buffer): Promise<void> {
    let written = 0;
    while (written < bytes.length) {
      const { bytesWritten } = await this.#handle.write(bytes, written, bytes.length - written, this.#size + written);
      written += bytesWritten;
    }
    this.#size += bytes.length;
  }

  /** The chain goes on in a new file: its first line names the hash of the old one's last. */
  async #rotate(): Promise<void> {
    const { path } = this.#options;
    await this.#sync();
    if (this.#first !== null) await renameDurably(path, rotatedPath(path, this.#first.seq));
    const next = await openFile(path);
    await this.#handle.close();
    this.#handle = next;
    this.#size = 0;
    this.#first = null;
    this.#retainedAt = -Infinity;
    this.#tellHead(true);
  }

  /** Written lines outlast the process at once, and the machine's power a moment later. */
  #syncSoon(): void {
    if (this.#cancelSync !== null || this.#closed) return;
    const waitMs = Math.max(0, this.#syncedAt + SYNC_INTERVAL_MS - this.#options.clock.monotonic());
    this.#cancelSync = this.#options.clock.after(waitMs, () => {
      this.#cancelSync = null;
      void this.#sync();
    });
  }

  async #sync(): Promise<void> {
    this.#syncedAt = this.#options.clock.monotonic();
    try {
      await this.#handle.datasync();
    } catch (error) {
      // A file that was rotated or closed meanwhile was synced then.
      if ((error as NodeJS.ErrnoException).code === 'EBADF') return;
      this.#options.log.error({ path: this.#options.path, err: error }, 'the audit log could not be synced to disk');
    }
  }

  #tellHead(always: boolean): void {
    const now = this.#options.clock.monotonic();
    if (!always && now - this.#headToldAt < HEAD_INTERVAL_MS) return;
    this.#headToldAt = now;
    const { seq, hash } = this.#head;
    this.#options.log.info({ event: 'audit_head', seq, hash }, `the audit log stands at line ${seq}`);
  }
}

function lossOf(count: number, at: number): Waiting {
  const detail = 'the disk did not take entries, and too many waited';
  return { entry: { action: 'lost', count, detail }, at };
}
