import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';
import type { HttpTarget, Subject } from '../src/subject.ts';

const COUNTED = JSON.stringify({ id: randomUUID(), result: 'applied' });
const CREATED = JSON.stringify([{ id: randomUUID(), name: 'single', kind: 'bench', status: 'Pending' }]);

/** Reads the body of a request, and answers the same whatever it says: nothing on node:http can be faster. */
function answer(request: IncomingMessage, response: ServerResponse): void {
  request.on('data', () => undefined);
  request.on('end', () => {
    const [status, body] = request.method === 'PUT' ? [202, COUNTED] : [201, CREATED];
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
  });
}

class CeilingSubject implements Subject {
  readonly #server: Server = createServer(answer);

  prepare(): Promise<void> {
    return Promise.resolve();
  }

  listen(running: number): Promise<HttpTarget> {
    return new Promise((resolve) => {
      this.#server.listen(0, '127.0.0.1', () => {
        const { port } = this.#server.address() as AddressInfo;
        resolve({ port, task_ids: Array.from({ length: running }, () => randomUUID()) });
      });
    });
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }
}

export function createSubject(): Subject {
  return new CeilingSubject();
}
