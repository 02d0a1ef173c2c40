export interface ServerEvent {
  event: string;
  data: string;
  /** The last id that the stream has sent; null before the first. */
  id: string | null;
}

/** Splits a server-sent stream into events; chunks may end anywhere, comments are dropped. */
export class EventStreamParser {
  private rest = '';
  private event = '';
  private data: string[] = [];
  private id: string | null = null;

  push(chunk: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    const text = this.rest + chunk;
    // A carriage return at the very end may be the first half of a line end, so it is kept for the next chunk.
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
    if (field === 'id') this.id = value;
    return null;
  }

  private finish(): ServerEvent | null {
    // The standard drops events without data, but `end` has none.
    const isEvent = this.data.length > 0 || this.event !== '';
    const named = isEvent ? { event: this.event || 'message', data: this.data.join('\n'), id: this.id } : null;
    this.event = '';
    this.data = [];
    return named;
  }
}
