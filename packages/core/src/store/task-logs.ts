import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';

import { decodeLines } from '@heddle/base/log-lines';
import { findLog, joinLogs, type SlabLog } from '@heddle/base/log-slab';
import type { LogChunk, LogLine } from '@heddle/base/vocabulary/task-log';
import type { Queryable, Statement } from './database.ts';
import { numberArray, uuidArray } from './transitions.ts';

/** Bytes of lines kept of one attempt, a chunk more or less. */
const LOG_BYTES_MAX = 1024 * 1024;
/** Smaller chunks are stored as they are: compressing them costs more than it saves. */
const COMPRESSED_FROM_BYTES = 1_024;
/** Bytes of lines in one pack: what a reader of any of them decompresses. */
export const PACK_BYTES_MAX = 1024 * 1024;
const DECOMPRESSION = { maxOutputLength: 4 * LOG_BYTES_MAX, chunkSize: 128 * 1024 };
const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_windowLog]: 18 } };
const PLAIN = Buffer.from([0]);
const ZSTD = Buffer.from([1]);

const APPEND: Statement = {
  name: 'logs.append',
  text: `select append_logs($1::uuid[], $2::integer[], $3::integer[], $4::integer[], $5::integer[], $6::integer[], $7::bytea, $8)`,
};
const READ: Statement = { name: 'logs.read', text: `select * from logs_of($1, $2, $3, $4)` };
/** `ended` is null if the last lines are in the pack of the task. */
const LATEST: Statement = {
  name: 'logs.latest',
  text: `select attempt, ended from (
      (select attempt, first_line + lines as ended from task_log
        where task_id = $1 and ($2::integer is null or attempt = $2) order by attempt desc, first_line desc limit 1)
      union all
      select 1, null from task_all where id = $1 and log_pack is not null and coalesce($2::integer, 1) = 1) l
    order by attempt desc, ended desc nulls last limit 1`,
};

/** Stores chunks of one or several attempts. Chunks of unknown tasks, and of later attempts than theirs, are ignored. */
export async function appendChunks(queryable: Queryable, chunks: readonly LogChunk[]): Promise<void> {
  const encoded = chunks.map(({ text }) => compressed(Buffer.from(text.slice(1))));
  await queryable.query(APPEND, [
    uuidArray(chunks.map(({ task_id }) => task_id)),
    numberArray(chunks.map(({ attempt }) => attempt)),
    numberArray(chunks.map(({ first_line }) => first_line)),
    numberArray(chunks.map(({ lines }) => lines)),
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
  const [row] = await queryable.query<{ attempt: number; ended: number | null }>(LATEST, [taskId, attempt]);
  if (row === undefined) return null;
  if (row.ended !== null) return { attempt: row.attempt, ended: row.ended };
  const lines = await readLines(queryable, taskId, row.attempt, 0, 1);
  return lines.length === 0 ? null : { attempt: row.attempt, ended: lines.length };
}

interface ChunkRow {
  first_line: number;
  data: Buffer | null;
  packed: Buffer | null;
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
  for (const { first_line, data, packed } of rows) {
    const text = data === null ? findLog(decompressed(packed!), taskId, attempt) : `\n${decompressed(data).toString()}`;
    if (text === null) continue;
    for (const [index, line] of decodeLines(text).entries()) {
      // Chunks overlap if they were cut differently when they were sent again.
      if (first_line + index < next) continue;
      next = first_line + index + 1;
      lines.push({ number: first_line + index, ...line });
    }
  }
  return lines;
}

/** Returns the logs of several attempts as one value. */
export function packLogs(logs: readonly SlabLog[]): Buffer {
  return compressed(joinLogs(logs)).data;
}

/** Returns a byte for the encoding, followed by the text. */
function compressed(text: Buffer): { bytes: number; data: Buffer } {
  const parts = text.length < COMPRESSED_FROM_BYTES ? [PLAIN, text] : [ZSTD, zstdCompressSync(text, FAST)];
  return { bytes: text.length, data: Buffer.concat(parts) };
}

function decompressed(data: Buffer): Buffer {
  const content = data.subarray(1);
  return data[0] === PLAIN[0] ? content : zstdDecompressSync(content, DECOMPRESSION);
}
