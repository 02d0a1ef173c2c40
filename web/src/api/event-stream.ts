import { ApiError, request } from './client.ts';
import { EventStreamParser } from './event-parser.ts';
import type { ServerEvent } from './event-parser.ts';

export interface StreamHandlers {
  onOpen(): void;
  onEvent(event: ServerEvent): void;
}

export interface StreamOptions {
  signal: AbortSignal;
  /** Last event received: the stream resumes after it. Null: it starts from the beginning. */
  lastEventId?: string | null;
  silenceMs?: number;
}

/**
 * Reads one server-sent stream until it ends, with fetch, because EventSource does not say why a stream failed. Resolves
 * when the server closes it; throws an ApiError when it breaks or is silent for `silenceMs`.
 */
export async function readEventStream(
  path: string,
  handlers: StreamHandlers,
  { signal, lastEventId = null, silenceMs = 60_000 }: StreamOptions,
): Promise<void> {
  const quiet = new AbortController();
  let timer = setTimeout(() => quiet.abort(), silenceMs);
  try {
    const response = await request(path, {
      headers: {
        accept: 'text/event-stream',
        ...(lastEventId === null ? {} : { 'last-event-id': lastEventId }),
      },
      signal: AbortSignal.any([signal, quiet.signal]),
    });
    if (response.body === null) throw new ApiError(0, 'The stream of events is empty');
    handlers.onOpen();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const parser = new EventStreamParser();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(() => quiet.abort(), silenceMs);
      for (const event of parser.push(value)) handlers.onEvent(event);
    }
  } catch (error) {
    if (signal.aborted || error instanceof ApiError) throw error;
    throw new ApiError(0, quiet.signal.aborted ? 'The server stopped responding' : 'The connection was lost');
  } finally {
    clearTimeout(timer);
  }
}
