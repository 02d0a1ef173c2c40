import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { mkdirSync } from 'node:fs';

type Json = Readonly<Record<string, unknown>>;

export interface ForgeContent {
  /** Path of the API: `/api/v3`. */
  api: string;
  /** Lists by their path below that of the API. */
  lists: Record<string, readonly Json[]>;
  /** Single answers likewise. */
  objects: Record<string, Json>;
  /** Who may read repositories with git, and lists: the authorization of the API and that of git. */
  authorization?: { api: string; git: string };
}

export interface SeenRequest {
  url: string;
  headers: IncomingHttpHeaders;
}

const PAGE_SIZE = 2;

/**
 * A server that answers as GitHub and GitLab document: lists in pages of two with a Link header, and repositories over
 * the smart HTTP protocol of git.
 */
export class ForgeServer implements AsyncDisposable {
  readonly content: ForgeContent;
  readonly seen: SeenRequest[] = [];
  /** Answers a request itself if it returns true. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  readonly #root: string;
  readonly #server = createServer((request, response) => this.#answer(request, response));

  /** @param root where its repositories are */
  constructor(root: string, content: ForgeContent) {
    this.#root = root;
    this.content = content;
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `http://${this.host}`;
  }

  /** Publishes a repository, with what it has at this time. */
  publish(repository: string, name: string): string {
    const path = join(this.#root, `${name}.git`);
    mkdirSync(dirname(path), { recursive: true });
    execFileSync('git', ['clone', '-q', '--mirror', repository, path], { stdio: 'pipe' });
    return path;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url!, this.url);
    this.seen.push({ url: request.url!, headers: request.headers });
    if (this.intercept(request, response)) return;
    const { api, lists, objects, authorization } = this.content;
    const isApi = pathname.startsWith(`${api}/`);
    const needed = isApi ? authorization?.api : authorization?.git;
    if (needed !== undefined && request.headers.authorization !== needed) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="forge"' }).end('{"message":"Bad credentials"}');
      return;
    }
    if (!isApi) {
      this.#serveGit(request, response);
      return;
    }
    const name = pathname.slice(api.length);
    const list = lists[name];
    const found = list ?? objects[name];
    if (found === undefined) {
      sendJson(response, 404, { message: 'Not Found' });
      return;
    }
    if (list === undefined) {
      sendJson(response, 200, found);
      return;
    }
    const page = Number(searchParams.get('page') ?? '1');
    const next = new URL(request.url!, this.url);
    next.searchParams.set('page', String(page + 1));
    if (page * PAGE_SIZE < list.length)
      response.setHeader('link', `<${this.url}/first>; rel="first", <${next.href}>; rel="next"`);
    sendJson(response, 200, list.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE));
  }

  /** By git's own program for web servers. */
  #serveGit(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, search } = new URL(request.url!, this.url);
    const {
      'content-type': type = '',
      'content-encoding': encoding = '',
      'git-protocol': protocol = '',
    } = request.headers;
    const child = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env['PATH'],
        GIT_PROJECT_ROOT: this.#root,
        GIT_HTTP_EXPORT_ALL: '1',
        PATH_INFO: pathname,
        QUERY_STRING: search.slice(1),
        REQUEST_METHOD: request.method!,
        CONTENT_TYPE: type,
        HTTP_CONTENT_ENCODING: encoding,
        GIT_PROTOCOL: String(protocol),
      },
    });
    child.stdin.on('error', () => undefined);
    request.pipe(child.stdin);
    const pieces: Buffer[] = [];
    child.stdout.on('data', (piece: Buffer) => pieces.push(piece));
    child.once('close', () => {
      const answer = Buffer.concat(pieces);
      const end = answer.indexOf('\r\n\r\n');
      const headers = answer
        .toString('latin1', 0, end)
        .split('\r\n')
        .map((line) => line.split(': ') as [string, string]);
      const status = headers.find(([name]) => name === 'Status')?.[1] ?? '200';
      response.writeHead(
        Number.parseInt(status, 10),
        Object.fromEntries(headers.filter(([name]) => name !== 'Status')),
      );
      response.end(answer.subarray(end + 4));
    });
  }
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
}
