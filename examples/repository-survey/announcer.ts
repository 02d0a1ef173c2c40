/** The target of the survey's notifications: the example's own service on loopback. */
import { timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

const BODY_BYTES_MAX = 10_000;

export interface Announcer {
  port: number;
  close(): Promise<void>;
}

/**
 * Listens on 127.0.0.1 and passes on requests that have the key.
 * @param port a port that was used before; a free one if it is in use or 0
 */
export async function listenForAnnouncements(
  port: number,
  key: string,
  onText: (text: string) => void,
): Promise<Announcer> {
  const server = createServer((request, response) => {
    readText(request, key).then(
      (text) => {
        if (text !== null) onText(text);
        response.writeHead(text === null ? 403 : 204).end();
      },
      () => response.writeHead(400).end(),
    );
  });
  const listen = (at: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(at, '127.0.0.1', () => {
        server.off('error', reject);
        resolve();
      });
    });
  await listen(port).catch(() => listen(0));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readText(request: IncomingMessage, key: string): Promise<string | null> {
  const shown = Buffer.from(String(request.headers['x-api-key'] ?? ''));
  const expected = Buffer.from(key);
  if (shown.length !== expected.length || !timingSafeEqual(shown, expected)) return null;
  let body = '';
  for await (const chunk of request) {
    body += String(chunk);
    if (body.length > BODY_BYTES_MAX) throw new Error('the body is too large');
  }
  return String((JSON.parse(body) as { text: unknown }).text);
}
