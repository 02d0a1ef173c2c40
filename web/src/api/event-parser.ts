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
    return null;
  }

  private finish(): ServerEvent | null {
    const event = this.data.length === 0 ? null : { event: this.event || 'message', data: this.data.join('\n') };
    // The standard drops events without data, but `end` has none.
    const named = event ?? (this.event === '' ? null : { event: this.event, data: '' });
    this.event = '';
    this.data = [];
    return named;
  }
}
