/** One server-sent event. */
export interface ServerEvent {
  name: string;
  id: string | null;
  data: string;
}

/** Reads server-sent events from a response's body, regardless of chunk boundaries; omits comments. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    // A carriage return at the end of a chunk may belong to a line feed of the next one.
    const text = rest + decoder.decode(chunk, { stream: true });
    const complete = text.endsWith('\r') ? text.slice(0, -1) : text;
    const blocks = complete.split(/\r\n\r\n|\n\n|\r\r/);
    rest = blocks.pop()! + text.slice(complete.length);
    for (const block of blocks) {
      const event = parseBlock(block);
      if (event !== null) yield event;
    }
  }
}

function parseBlock(block: string): ServerEvent | null {
  let name = 'message';
  let id: string | null = null;
  const data: string[] = [];
  for (const line of block.split(/\r\n|\n|\r/)) {
    const colon = line.indexOf(':');
    if (colon === 0) continue;
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') name = value;
    else if (field === 'id') id = value;
    else if (field === 'data') data.push(value);
  }
  return data.length === 0 ? null : { name, id, data: data.join('\n') };
}
