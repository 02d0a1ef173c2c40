import { mkdir, open, readdir, readFile, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';

import type { Logger } from '@heddle/base/log';
import { readNonceFrames, type NonceRecordSink } from './nonce-records.ts';

const NAME = /^nonces-(\d{1,15})\.log$/;
const NEWLINE = 0x0a;

/** First line of each file. */
interface SegmentHeader {
  version: 1;
  /** Boot id when the file was created; after another boot its last frames may be missing. Null if unknown. */
  boot_id: string | null;
  /** Replay horizon when the file was created. */
  horizon_ms: number;
}

/** One file of nonces. */
export interface Segment {
  readonly path: string;
  /** Latest request in it, milliseconds since the epoch. */
  newestMs: number;
}

export interface FoundSegments {
  readonly segments: Segment[];
  /** Number of the next file. */
  readonly nextNumber: number;
  readonly horizonMs: number;
  /** Whether it includes every request that was acted on. */
  readonly complete: boolean;
}

/** Reads the existing files. @param bootId current boot id; null if unavailable */
export async function readSegments(
  directory: string,
  bootId: string | null,
  sink: NonceRecordSink,
  log: Logger,
): Promise<FoundSegments> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const numbers = (await readdir(directory))
    .flatMap((name) => NAME.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((one, other) => one - other);
  const segments: Segment[] = [];
  let horizonMs = 0;
  let complete = false;
  for (const number of numbers) {
    const path = segmentPath(directory, number);
    const segment = { path, newestMs: 0 };
    const bytes = await readFile(path);
    const headerEnd = bytes.indexOf(NEWLINE) + 1;
    const header = parseHeader(bytes.subarray(0, headerEnd));
    // Empty files were never used. The newest file shows whether earlier ones are complete.
    if (bytes.length > 0) complete = bootId !== null && header?.boot_id === bootId;
    horizonMs = Math.max(horizonMs, header?.horizon_ms ?? 0);
    const unread = readNonceFrames(bytes.subarray(headerEnd), (client, records, nonceAt, timestampMs) => {
      segment.newestMs = Math.max(segment.newestMs, timestampMs);
      sink(client, records, nonceAt, timestampMs);
    });
    if (unread > 0)
      log.warn({ file: path, bytes: unread }, 'nonce file ends in a torn frame; its requests were not acted on');
    segments.push(segment);
  }
  return { segments, nextNumber: (numbers.at(-1) ?? 0) + 1, horizonMs, complete };
}

/** Creates a file. */
export async function beginSegment(
  directory: string,
  number: number,
  header: Omit<SegmentHeader, 'version'>,
): Promise<{ segment: Segment; file: FileHandle }> {
  const path = segmentPath(directory, number);
  const file = await open(path, 'wx', 0o600);
  const segment = { path, newestMs: 0 };
  try {
    await file.appendFile(`${JSON.stringify({ version: 1, ...header })}\n`);
  } catch (error) {
    // On a full disk every request gets here, so neither descriptors nor files may accumulate.
    await file.close();
    await removeSegment(segment).catch(() => undefined);
    throw error;
  }
  return { segment, file };
}

export async function removeSegment({ path }: Segment): Promise<void> {
  await unlink(path).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  });
}

function segmentPath(directory: string, number: number): string {
  return join(directory, `nonces-${number}.log`);
}

function parseHeader(line: Buffer): SegmentHeader | null {
  try {
    const { version, boot_id, horizon_ms } = JSON.parse(line.toString()) as Partial<SegmentHeader>;
    if (version !== 1 || typeof horizon_ms !== 'number') return null;
    return { version, boot_id: boot_id ?? null, horizon_ms };
  } catch {
    return null;
  }
}
