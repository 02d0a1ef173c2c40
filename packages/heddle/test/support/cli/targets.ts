/** A webhook target whose behavior a test controls. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Target {
  readonly url: string;
  /** Status of responses by path; 202 by default. */
  readonly answers: Map<string, number>;
  /** Received handles by path. */
  readonly handles: Map<string, string>;
  /** Ends the task of a path. */
  finish(path: string, body?: object): Promise<Response>;
  close(): Promise<void>;
}

/** @param onCall called with the path of each call after its response */
export async function startTarget(onCall: (path: string, target: Target) => void = () => undefined): Promise<Target> {
  const answers = new Map<string, number>();
  const handles = new Map<string, string>();
  const server: Server = createServer((request, response) => {
    const url = new URL(request.url!, 'http://127.0.0.1');
    request.resume();
    const handle = url.searchParams.get('handle');
    if (handle !== null) handles.set(url.pathname, handle);
    response.writeHead(answers.get(url.pathname) ?? 202).end();
    onCall(url.pathname, target);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const target: Target = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answers,
    handles,
    finish: (path, body = { status: 'Success' }) =>
      fetch(handles.get(path)!, {
        method: 'PATCH',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close').catch(() => undefined);
    },
  };
  return target;
}
