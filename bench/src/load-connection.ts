import { connect } from 'node:net';
import type { Socket } from 'node:net';

const HEAD_END = '\r\n\r\n';
/** Of "HTTP/1.1 200 OK". */
const STATUS_AT = 9;

interface Waiting {
  resolve(status: number): void;
  reject(error: Error): void;
}

/** Returns a request as bytes, ready to be sent again and again. */
export function requestBytes(method: string, path: string, port: number, body: string): Buffer {
  const head = [
    `${method} ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    'connection: keep-alive',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join('\r\n')}${HEAD_END}${body}`);
}

/**
 * A connection that sends prepared requests, one at a time. It reads no more of a response than its status and where it
 * ends: a client that does more costs more than the servers it measures, on the same processors.
 */
export class LoadConnection {
  readonly #socket: Socket;
  #waiting: Waiting | null = null;
  #status = 0;
  /** Bytes of the response's body that are still to come; null before its head has arrived. */
  #bodyLeft: number | null = null;
  #head = '';

  constructor(port: number) {
    this.#socket = connect({ host: '127.0.0.1', port, noDelay: true });
    this.#socket.on('data', (bytes: Buffer) => this.#read(bytes));
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('close', () => this.#fail(new Error('the server closed the connection')));
  }

  /** Resolves with the status once the whole response has arrived. */
  send(request: Buffer): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(bytes: Buffer): void {
    if (this.#bodyLeft === null) this.#readHead(bytes);
    else this.#bodyLeft -= bytes.length;
    if (this.#bodyLeft === null || this.#bodyLeft > 0) return;
    this.#bodyLeft = null;
    const waiting = this.#waiting!;
    this.#waiting = null;
    waiting.resolve(this.#status);
  }

  #readHead(bytes: Buffer): void {
    this.#head += bytes.toString('latin1');
    const end = this.#head.indexOf(HEAD_END);
    if (end === -1) return;
    const head = this.#head.slice(0, end);
    this.#status = Number(head.slice(STATUS_AT, STATUS_AT + 3));
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (length === undefined && this.#status !== 204) {
      this.#fail(new Error(`a response without content-length: ${head}`));
      return;
    }
    this.#bodyLeft = Number(length ?? 0) - (this.#head.length - end - HEAD_END.length);
    this.#head = '';
  }

  #fail(error: Error): void {
    this.#waiting?.reject(error);
    this.#waiting = null;
  }
}
