import { mkdir, open, readdir, readFile, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';

import type { Logger } from '../../runtime/log.ts';
import { readNonceFrames, type NonceRecordSink } from './nonce-records.ts';

const NAME = /^nonces-(\d{1,15})\.log$/;
const NEWLINE = 0x0a;

/** First line of each file. */
interface SegmentHeader {
  version: 1;
  /** Of the machine, when the file was begun; its last frames may be missing after another boot. Null: not known. */
  boot_id: string | null;
  /** Requests signed before it were to be refused when the file was begun. */
  horizon_ms: number;
}

/** One file of nonces. */
export interface Segment {
  readonly path: string;
  /** The youngest request in it, milliseconds since the epoch. */
  newestMs: number;
}

export interface FoundSegments {
  readonly segments: Segment[];
  /** The number that the next file gets. */
  readonly nextNumber: number;
  readonly horizonMs: number;
  /** Whether every request that was acted on is in it. */
  readonly complete: boolean;
}

/** Reads the files that are there. @param bootId of the machine now; null where it has none that can be read */
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
    // An empty file was begun and not used. The first file of a boot says how far those of before can be relied on.
    if (bytes.length > 0) complete = bootId !== null && header?.boot_id === bootId;
    horizonMs = Math.max(horizonMs, header?.horizon_ms ?? 0);
    const unread = readNonceFrames(bytes.subarray(headerEnd), (client, records, nonceAt, timestampMs) => {
      segment.newestMs = Math.max(segment.newestMs, timestampMs);
      sink(client, records, nonceAt, timestampMs);
    });
    if (unread > 0)
      log.warn({ file: path, bytes: unread }, 'the end of a file of nonces is cut off; its requests were not acted on');
    segments.push(segment);
  }
  return { segments, nextNumber: (numbers.at(-1) ?? 0) + 1, horizonMs, complete };
}

/** Begins a file. */
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
    // On a full disk every request comes here: neither descriptors nor files may add up.
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
