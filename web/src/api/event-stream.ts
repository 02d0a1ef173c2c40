import { ApiError, request } from './client.ts';

export interface ServerEvent {
  event: string;
  data: string;
}

/** Splits a server-sent stream into events; chunks may end anywhere, comments are dropped. */
export class EventStreamParser {
  private rest = '';
  private event = '';
  private data: string[] = [];

  push(chunk: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    const text = this.rest + chunk;
    // A carriage return at the very end may be the first half of a line end: it waits for the next chunk.
    const usable = text.endsWith('\r') ? text.length - 1 : text.length;
    const lines = text.slice(0, usable).split(/\r\n|\n|\r/);
    this.rest = (lines.pop() ?? '') + text.slice(usable);
    for (const line of lines) {
      const event = this.take(line);
      if (event !== null) events.push(event);
    }
    return events;
  }

  private take(line: string): ServerEvent | null {
    if (line === '') return this.finish();
    if (line.startsWith(':')) return null;
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') this.event = value;
    if (field === 'data') this.data.push(value);
    return null;
  }

  private finish(): ServerEvent | null {
    const event = this.data.length === 0 ? null : { event: this.event || 'message', data: this.data.join('\n') };
    // An event without data is dropped by the standard, but `end` says all it has to say by its name.
    const named = event ?? (this.event === '' ? null : { event: this.event, data: '' });
    this.event = '';
    this.data = [];
    return named;
  }
}

export interface StreamHandlers {
  onOpen(): void;
  onEvent(event: ServerEvent): void;
}

/**
 * Reads one server-sent stream until it ends; read by fetch, since EventSource cannot send a token.
 * Resolves when the server closes it, throws an ApiError when it breaks or says nothing for `silenceMs`.
 */
export async function readEventStream(
  path: string,
  handlers: StreamHandlers,
  signal: AbortSignal,
  silenceMs = 60_000,
): Promise<void> {
  const quiet = new AbortController();
  let timer = setTimeout(() => quiet.abort(), silenceMs);
  try {
    const response = await request(path, {
      headers: { accept: 'text/event-stream' },
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
    throw new ApiError(0, quiet.signal.aborted ? 'The server fell silent' : 'The connection broke');
  } finally {
    clearTimeout(timer);
  }
}
