import { mkdir } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname, join } from 'node:path';

import { TAKEN, TOKEN_LENGTH } from './messages.ts';

/** The system's limit is 103 to 107, depending on the platform. */
const PATH_BYTES_MAX = 103;
/** Time limit for a connection to send its token. */
const GREETING_MS = 10_000;

/** Expected connections of one process, by stream number. */
export interface ExpectedStreams {
  readonly sockets: readonly (Socket | undefined)[];
  /** Resolves once all are accepted. Never rejects. */
  readonly accepted: Promise<undefined>;
  /** Closes the accepted connections and stops expecting more. */
  readonly forget: () => void;
}

/** Unix socket in a private directory that accepts the streams of new processes. */
export class Connections {
  readonly path: string;
  readonly #server: Server;
  readonly #expected = new Map<
    string,
    { readonly sockets: (Socket | undefined)[]; readonly accept: (value: undefined) => void }
  >();

  private constructor(path: string) {
    this.path = path;
    this.#server = createServer((socket) => this.#greet(socket));
    this.#server.on('error', () => undefined);
    this.#server.unref();
  }

  /** @throws Error if the socket's path would be too long */
  static async listen(directory: string): Promise<Connections> {
    const folder = join(directory, 'streams');
    const path = join(folder, 's');
    if (Buffer.byteLength(path) > PATH_BYTES_MAX) {
      throw new Error(`the path ${directory} is too long for a Unix socket; set TMPDIR to a shorter one`);
    }
    await mkdir(folder, { mode: 0o700 });
    const made = new Connections(path);
    await new Promise<void>((resolve, reject) => {
      made.#server.once('error', reject).listen(path, resolve);
    });
    return made;
  }

  /** Expects `count` connections that begin with this token, and confirms each one. */
  expect(token: string, count: number): ExpectedStreams {
    const sockets = Array.from<Socket | undefined>({ length: count });
    const { promise: accepted, resolve: accept } = Promise.withResolvers<undefined>();
    this.#expected.set(token, { sockets, accept });
    const forget = (): void => {
      this.#expected.delete(token);
      for (const socket of sockets) socket?.destroy();
    };
    return { sockets, accepted, forget };
  }

  #greet(socket: Socket): void {
    socket.on('error', () => undefined);
    socket.setTimeout(GREETING_MS, () => socket.destroy());
    const onReadable = (): void => {
      const greeting = socket.read(TOKEN_LENGTH + 1) as Buffer | null;
      if (greeting === null) return;
      socket.removeListener('readable', onReadable);
      socket.setTimeout(0).removeAllListeners('timeout');
      this.#take(greeting.toString('latin1'), socket);
    };
    socket.on('readable', onReadable);
  }

  #take(greeting: string, socket: Socket): void {
    const token = greeting.slice(0, TOKEN_LENGTH);
    const index = Number(greeting.slice(TOKEN_LENGTH));
    const expected = this.#expected.get(token);
    if (expected === undefined || index >= expected.sockets.length || expected.sockets[index] !== undefined) {
      socket.destroy();
      return;
    }
    const { sockets, accept } = expected;
    sockets[index] = socket;
    socket.write(TAKEN);
    if (sockets.includes(undefined)) return;
    this.#expected.delete(token);
    accept(undefined);
  }

  /** Directory of the socket. */
  get directory(): string {
    return dirname(this.path);
  }

  close(): void {
    this.#server.close();
  }
}
