import type { LogChunk, LogPage } from '@heddle/base/vocabulary/task-log';
import { appendChunks, findLatestLine, readLines } from '../store/task-logs.ts';
import type { EngineContext } from './context.ts';

/** Bytes of lines that one read decodes. */
const READ_BYTES = 512 * 1024;

export interface LogQuery {
  /** Null: the one that logged last. */
  attempt: number | null;
  /** Number of the first line; null: the first one kept. */
  from: number | null;
  /** Only the last lines, instead of `from`. */
  tail: number | null;
  limit: number;
}

/** Stores what attempts logged; a chunk may come again. Chunks of unknown tasks are ignored. */
export async function appendLogs({ database }: EngineContext, chunks: readonly LogChunk[]): Promise<void> {
  const filled = chunks.filter(({ lines }) => lines > 0);
  if (filled.length > 0) await appendChunks(database, filled);
}

/** Returns a part of what an attempt logged; null if it logged nothing. */
export async function readLogs({ database }: EngineContext, id: string, query: LogQuery): Promise<LogPage | null> {
  const latest = await findLatestLine(database, id, query.attempt);
  if (latest === null) return null;
  const { attempt, ended } = latest;
  const from = query.tail === null ? (query.from ?? 0) : Math.max(0, ended - query.tail);
  const lines = (await readLines(database, id, attempt, from, READ_BYTES)).slice(0, query.limit);
  return { attempt, lines, next: (lines.at(-1)?.number ?? from - 1) + 1 };
}
