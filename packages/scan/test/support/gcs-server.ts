import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Stored {
  content: Buffer;
  generation: number;
}

/** A server that speaks as much of the JSON API of Google Cloud Storage as reading buckets needs. */
export class GcsServer {
  readonly buckets = new Map<string, Map<string, Stored>>();
  /** Answers a request itself if it returns true. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  readonly #server = createServer((request, response) => this.#answer(request, response));
  #generation = 1_700_000_000_000;

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  put(bucket: string, key: string, content: string | Uint8Array): void {
    const objects = this.buckets.get(bucket)!;
    objects.set(key, { content: Buffer.from(content), generation: (this.#generation += 1) });
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    if (this.intercept(request, response)) return;
    const { pathname, searchParams } = new URL(request.url!, this.url);
    const [, bucket = '', key] = /^(?:\/download)?\/storage\/v1\/b\/([^/]+)\/o(?:\/(.+))?$/.exec(pathname) ?? [];
    const objects = this.buckets.get(decodeURIComponent(bucket));
    if (objects === undefined) {
      refuse(response, 404, 'The specified bucket does not exist.');
      return;
    }
    if (key === undefined) {
      list(objects, searchParams, response);
      return;
    }
    const stored = objects.get(decodeURIComponent(key));
    const generation = searchParams.get('generation');
    if (stored === undefined || (generation !== null && generation !== String(stored.generation))) {
      refuse(response, 404, 'No such object');
      return;
    }
    const { content } = stored;
    const [, from = '0', to = ''] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    const start = Number(from);
    const end = Math.min(to === '' ? content.length : Number(to) + 1, content.length);
    if (start >= content.length) {
      refuse(response, 416, 'The requested range cannot be satisfied.');
      return;
    }
    response.writeHead(206, {
      'content-range': `bytes ${start}-${end - 1}/${content.length}`,
      'content-length': String(end - start),
      'x-goog-generation': String(stored.generation),
    });
    response.end(content.subarray(start, end));
  }
}

function list(objects: ReadonlyMap<string, Stored>, parameters: URLSearchParams, response: ServerResponse): void {
  const prefix = parameters.get('prefix') ?? '';
  const after = Buffer.from(parameters.get('pageToken') ?? '', 'base64');
  const names = [...objects.keys()].filter((name) => name.startsWith(prefix)).map((name) => Buffer.from(name));
  const rest = names.sort((one, other) => Buffer.compare(one, other)).filter((name) => Buffer.compare(name, after) > 0);
  const page = rest.slice(0, Number(parameters.get('maxResults') ?? '1000'));
  const items = page.map((name) => ({ name: String(name), size: String(objects.get(String(name))!.content.length) }));
  const nextPageToken = page.length < rest.length ? page.at(-1)!.toString('base64') : undefined;
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ items, nextPageToken }));
}

function refuse(response: ServerResponse, code: number, message: string): void {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { code, message } }));
}
