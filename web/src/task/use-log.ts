import { useEffect, useState } from 'react';
import type { LogLine, LogPage } from '@heddle/client';
import { ApiError, getJson, segment } from '../api/client.ts';
import { readEventStream } from '../api/event-stream.ts';

/** Lines that are kept in memory; the download has all of them. */
export const SHOWN_LINES_MAX = 20_000;
/** What the server sends of the lines that exist, at most. */
const TAIL_LINES = 10_000;
const PAUSE_MS = 1000;

export interface Log {
  lines: readonly (LogLine & { attempt: number })[];
  /** Whether the server has sent everything that exists, or follows. */
  isLoaded: boolean;
  isFollowing: boolean;
  error: unknown;
}

const EMPTY: Log = { lines: [], isLoaded: false, isFollowing: false, error: null };

/** Follows the log of an attempt: what exists, then every new line, across restarts of the server. */
export function useLog(taskId: string, attempt: number): Log {
  const [log, setLog] = useState<Log>(EMPTY);
  useEffect(() => {
    const stopped = new AbortController();
    setLog(EMPTY);
    void follow(taskId, attempt, setLog, stopped.signal);
    return () => stopped.abort();
  }, [taskId, attempt]);
  return log;
}

async function follow(
  taskId: string,
  attempt: number,
  setLog: (change: (log: Log) => Log) => void,
  signal: AbortSignal,
): Promise<void> {
  const path = `/v1/tasks/${segment(taskId)}/logs/events?attempt=${attempt}&tail=${TAIL_LINES}`;
  let lastEventId: string | null = null;
  const stopped = (): boolean => signal.aborted;
  while (!stopped()) {
    try {
      await readEventStream(
        path,
        {
          onOpen: () => setLog((log) => ({ ...log, isFollowing: true, error: null })),
          onEvent: ({ id, data }) => {
            if (id !== null) lastEventId = id;
            if (data === '') return;
            const page = JSON.parse(data) as LogPage;
            setLog((log) => ({ ...log, isLoaded: true, lines: appended(log.lines, page) }));
          },
        },
        { signal, lastEventId },
      );
      setLog((log) => ({ ...log, isLoaded: true, isFollowing: false }));
      return;
    } catch (error) {
      if (stopped()) return;
      setLog((log) => ({ ...log, isFollowing: false, error }));
      if (error instanceof ApiError && !error.transient) return;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

function appended(lines: Log['lines'], page: LogPage): Log['lines'] {
  const { attempt } = page;
  if (attempt === null || page.lines.length === 0) return lines;
  const last = lines.at(-1)?.number ?? -1;
  const fresh = page.lines.filter(({ number }) => number > last).map((line) => ({ ...line, attempt }));
  return [...lines, ...fresh].slice(-SHOWN_LINES_MAX);
}

/** Reads the whole log of an attempt as text, page by page. */
export async function readWholeLog(taskId: string, attempt: number): Promise<string> {
  const parts: string[] = [];
  for (let from = 0; ;) {
    const page = await getJson<LogPage>(`/v1/tasks/${segment(taskId)}/logs?attempt=${attempt}&from=${from}`);
    if (page.lines.length === 0) return parts.join('');
    for (const { at, stream, level, text } of page.lines) parts.push(`${at} ${level ?? stream} ${text}\n`);
    from = page.next;
  }
}
