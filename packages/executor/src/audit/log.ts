import { constants } from 'node:fs';
import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';

import type { Clock } from '@heddle/base/clock';
import { syncDirectory } from '@heddle/base/file-io';
import type { Logger } from '@heddle/base/log';
import type { Rate } from '@heddle/base/rate-buckets';
import { firstLineOf, headOfRotated, readTail, renameDurably, rotatedPath } from './files.ts';
import { formatLine, type ChainHead } from './line.ts';
import type { AuditEntry, AuditLog } from './port.ts';
import { RejectionLimit } from './rejection-limit.ts';
import { filesToPrune, KEEP_ALL, removeFiles, type AuditRetention } from './retention.ts';

const FILE_BYTES_MAX = 64 * 1024 * 1024;
/** Entries waiting for the disk; further ones are counted and dropped. */
const WAITING_MAX = 100_000;
const BATCH_MAX = 1_000;
const SYNC_INTERVAL_MS = 200;
const RETRY_MS = 1_000;
/** Interval between log messages with the chain head, so that a copy of the hash exists outside this file. */
const HEAD_INTERVAL_MS = 60_000;
/** Interval between retention checks while lines are being written. */
const RETENTION_INTERVAL_MS = 3_600_000;
/** With age-based retention a file covers at most a day, so that each line is deleted soon after it expires. */
const DATED_FILE_MS = 86_400_000;
/** With size-based retention the log consists of at least this many files. */
const FILES_MIN = 4;

export interface AuditLogOptions {
  /** The active file; its directory is created. Full files are renamed next to it. */
  path: string;
  clock: Clock;
  log: Logger;
  /** Size at which the file is rotated; default 64 MiB. */
  fileBytesMax?: number;
  /** Default: everything is kept. */
  retention?: AuditRetention;
  /**
   * Rate of logged rejections of unknown callers; further ones are only counted. Default: burst 100, then 3 per second.
   */
  unknownRejections?: Rate;
  /** Called with the number of entries dropped because they could not be written. */
  onLost?: (count: number) => void;
}

interface Waiting {
  readonly entry: AuditEntry;
  readonly at: number;
}

/**
 * Opens the log and continues its chain. A torn last line is cut off and recorded in the next line.
 *
 * @throws AuditLogDamaged if the last whole line was altered; a system error if the file cannot be written
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
      options.log.warn({ path: options.path, torn_bytes: torn.bytes }, 'audit log had a torn last line; truncated');
      const detail = 'the last line was torn: the executor or its machine stopped while writing it';
      log.append({ action: 'repaired', detail, torn_bytes: torn.bytes, torn_text: torn.text });
    }
    return log;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Not opened for appending: a write that failed halfway is repeated at the same offset. */
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
  /** Total size of the whole lines. */
  #size: number;
  /** The file's first line; null if it has none. */
  #first: { readonly seq: number; readonly at: string } | null;
  readonly #retention: AuditRetention;
  /** Monotonic time of the last retention check. */
  #retainedAt = -Infinity;
  #waiting: Waiting[] = [];
  #lost = 0;
  #writing: Promise<void> | null = null;
  #closed = false;
  #syncedAt = -Infinity;
  #cancelSync: (() => void) | null = null;
  #headLoggedAt = -Infinity;
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
    // Gives a failing disk one more attempt, not an endless number.
    this.#closing.abort();
    await this.#writing;
    if (this.#waiting.length > 0) await this.#writeAll();
    if (this.#waiting.length > 0) this.#drop(this.#waiting.length);
    this.#cancelSync?.();
    await this.#sync();
    await this.#handle.close();
    this.#logHead(true);
  }

  #add(entry: AuditEntry): void {
    if (this.#waiting.length >= WAITING_MAX) this.#drop(1);
    else this.#waiting.push({ entry, at: this.#options.clock.now() });
  }

  #drop(count: number): void {
    if (this.#lost === 0) {
      this.#options.log.error({ path: this.#options.path }, 'audit log cannot be written; dropping entries');
    }
    this.#lost += count;
    this.#options.onLost?.(count);
  }

  async #writeAll(): Promise<void> {
    // Entries added in the same tick go into the first write.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      try {
        await this.#writeSome();
      } catch (error) {
        const { path, clock, log } = this.#options;
        log.error({ path, err: error, waiting: this.#waiting.length }, 'audit log write failed; retrying');
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
    this.#logHead(false);
  }

  #isFull(): boolean {
    const { fileBytesMax = FILE_BYTES_MAX, clock } = this.#options;
    const { bytesMax, ageMsMax } = this.#retention;
    if (this.#size >= Math.min(fileBytesMax, (bytesMax ?? Infinity) / FILES_MIN)) return true;
    return ageMsMax !== null && this.#first !== null && Date.parse(this.#first.at) < clock.now() - DATED_FILE_MS;
  }

  /**
   * Deletes old files periodically. A chained entry that records the deletion is on disk before the files are removed.
   */
  async #retain(): Promise<void> {
    const { path, clock, log } = this.#options;
    if (clock.monotonic() - this.#retainedAt < RETENTION_INTERVAL_MS) return;
    this.#retainedAt = clock.monotonic();
    const now = clock.now();
    try {
      const old = await filesToPrune(path, this.#retention, this.#size, now);
      if (old === null) return;
      await this.#chain([{ entry: old.entry, at: now }]);
      await this.#handle.datasync();
      await removeFiles(old.paths);
      log.info({ files: old.paths }, 'deleted audit log files beyond the retention');
    } catch (error) {
      // The files stay; pending entries must not wait for the deletion.
      log.error({ path, err: error }, 'could not delete old audit log files');
    }
  }

  /** Appends entries as the next lines of the chain. */
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

  /** Continues the chain in a new file, whose first line carries the hash of the old file's last line. */
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
    this.#logHead(true);
  }

  /** Syncs soon: written lines survive the process immediately, and a power loss after the next sync. */
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
      // A file that was rotated or closed in the meantime has already been synced.
      if ((error as NodeJS.ErrnoException).code === 'EBADF') return;
      this.#options.log.error({ path: this.#options.path, err: error }, 'audit log sync failed');
    }
  }

  #logHead(always: boolean): void {
    const now = this.#options.clock.monotonic();
    if (!always && now - this.#headLoggedAt < HEAD_INTERVAL_MS) return;
    this.#headLoggedAt = now;
    const { seq, hash } = this.#head;
    this.#options.log.info({ event: 'audit_head', seq, hash }, `audit log is at line ${seq}`);
  }
}

function lossOf(count: number, at: number): Waiting {
  const detail = 'entries could not be written and the buffer was full';
  return { entry: { action: 'lost', count, detail }, at };
}
