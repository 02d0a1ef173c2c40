import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';

import {
  LOG_LEVELS,
  LOG_STREAMS,
  type LineLevel,
  type LogChunk,
  type LogLine,
  type LogStream,
} from '@heddle/base/vocabulary/task-log';
import type { Queryable, Statement } from './database.ts';
import { numberArray, uuidArray } from './transitions.ts';

/** Bytes of lines kept of one attempt, a chunk more or less. */
const LOG_BYTES_MAX = 1024 * 1024;
/** Smaller chunks are stored as they are: compressing them costs more than it saves. */
const COMPRESSED_FROM_BYTES = 1_024;
const DECOMPRESSED_BYTES_MAX = 4 * LOG_BYTES_MAX;
const PLAIN = 0;
const ZSTD = 1;

const APPEND: Statement = {
  name: 'logs.append',
  text: `select append_logs($1::uuid[], $2::integer[], $3::integer[], $4::integer[], $5::integer[], $6::integer[], $7::bytea, $8)`,
};
const READ: Statement = { name: 'logs.read', text: `select * from logs_of($1, $2, $3, $4)` };
const LATEST: Statement = {
  name: 'logs.latest',
  text: `select attempt, first_line + lines as ended from task_log
    where task_id = $1 and ($2::integer is null or attempt = $2) order by attempt desc, first_line desc limit 1`,
};

/** Stores chunks of one or several attempts. Chunks of unknown tasks, and of later attempts than theirs, are ignored. */
export async function appendChunks(queryable: Queryable, chunks: readonly LogChunk[]): Promise<void> {
  const encoded = chunks.map(({ lines }) => encodeLines(lines));
  await queryable.query(APPEND, [
    uuidArray(chunks.map(({ task_id }) => task_id)),
    numberArray(chunks.map(({ attempt }) => attempt)),
    numberArray(chunks.map(({ first_line }) => first_line)),
    numberArray(chunks.map(({ lines }) => lines.length)),
    numberArray(encoded.map(({ bytes }) => bytes)),
    numberArray(encoded.map(({ data }) => data.length)),
    Buffer.concat(encoded.map(({ data }) => data)),
    LOG_BYTES_MAX,
  ]);
}

/** Returns the attempt that logged last, and the number after its last line; null if there is no line. */
export async function findLatestLine(
  queryable: Queryable,
  taskId: string,
  attempt: number | null,
): Promise<{ attempt: number; ended: number } | null> {
  const [row] = await queryable.query<{ attempt: number; ended: number }>(LATEST, [taskId, attempt]);
  return row ?? null;
}

interface ChunkRow {
  first_line: number;
  lines: number;
  data: Buffer;
}

/** Returns lines of an attempt from a number on, about as many as have `bytesMax` bytes; their numbers may have gaps. */
export async function readLines(
  queryable: Queryable,
  taskId: string,
  attempt: number,
  from: number,
  bytesMax: number,
): Promise<(LogLine & { number: number })[]> {
  const rows = await queryable.query<ChunkRow>(READ, [taskId, attempt, from, bytesMax]);
  const lines: (LogLine & { number: number })[] = [];
  let next = from;
  for (const { first_line, data } of rows) {
    for (const [index, line] of decodeLines(data).entries()) {
      // Chunks overlap if they were cut differently when they were sent again.
      if (first_line + index < next) continue;
      next = first_line + index + 1;
      lines.push({ number: first_line + index, ...line });
    }
  }
  return lines;
}

/** Letters of streams and levels, upper case since the time before them is not: the initial of a level for `context.log`. */
const LETTERS = new Map<string, { stream: LogStream; level: LineLevel | null }>([
  ['O', { stream: LOG_STREAMS[0], level: null }],
  ['S', { stream: LOG_STREAMS[1], level: null }],
  ...LOG_LEVELS.map((level) => [level[0]!.toUpperCase(), { stream: LOG_STREAMS[2], level }] as const),
]);

function letterOf({ stream, level }: LogLine): string {
  if (stream === 'log') return (level ?? 'info')[0]!.toUpperCase();
  return stream === 'stdout' ? 'O' : 'S';
}

/** One line of text each: its time in base 36, a letter, the text. */
function encodeLines(lines: readonly LogLine[]): { bytes: number; data: Buffer } {
  const text = Buffer.from(lines.map((line) => `${line.at.toString(36)}${letterOf(line)}${line.text}`).join('\n'));
  const compressed = text.length < COMPRESSED_FROM_BYTES ? text : zstdCompressSync(text);
  const codec = compressed === text ? PLAIN : ZSTD;
  return { bytes: text.length, data: Buffer.concat([Buffer.from([codec]), compressed]) };
}

function decodeLines(data: Buffer): LogLine[] {
  const content = data.subarray(1);
  const text = data[0] === ZSTD ? zstdDecompressSync(content, { maxOutputLength: DECOMPRESSED_BYTES_MAX }) : content;
  return text
    .toString()
    .split('\n')
    .map((line) => {
      const [, at = '0', letter = 'O'] = /^([0-9a-z]+)([OSDIWE])/.exec(line) ?? [];
      return { at: Number.parseInt(at, 36), ...LETTERS.get(letter)!, text: line.slice(at.length + 1) };
    });
}
