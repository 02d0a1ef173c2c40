import type { IncomingMessage } from 'node:http';

/** Resolves with the body; never if the connection ends before it has arrived: then no one waits for an answer. */
export function readBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve) => {
    let body: Buffer | null = null;
    request.on('data', (part: Buffer) => (body = body === null ? part : Buffer.concat([body, part])));
    request.on('end', () => resolve(body ?? Buffer.alloc(0)));
  });
}
