import type { ServerResponse } from 'node:http';

import type { CallReply } from '../call.ts';
import { SECURITY_HEADERS } from '../security-headers.ts';

const SHARED_HEADERS: readonly string[] = Object.entries(SECURITY_HEADERS).flat();
const JSON_TYPE = 'application/json; charset=utf-8';

/** The status and the headers of a response that is written without the framework. */
export class DirectReply implements CallReply {
  statusCode = 200;
  readonly #headers: string[] = [];

  code(status: number): void {
    this.statusCode = status;
  }

  header(name: string, value: string): void {
    this.#headers.push(name, value);
  }

  /** @param body undefined: none */
  write(response: ServerResponse, body: unknown): void {
    if (body === undefined) {
      response.writeHead(this.statusCode, [...SHARED_HEADERS, ...this.#headers]).end();
      return;
    }
    const text = JSON.stringify(body);
    const length = String(Buffer.byteLength(text));
    const described = ['content-type', JSON_TYPE, 'content-length', length];
    response.writeHead(this.statusCode, [...SHARED_HEADERS, ...this.#headers, ...described]).end(text);
  }
}
