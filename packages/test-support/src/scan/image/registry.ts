import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface RegistryContent {
  blobs: ReadonlyMap<string, Buffer>;
  /** Manifests and indexes by tag. */
  tags: Record<string, Buffer>;
}

export interface RegistryOptions {
  /** Demands a token, which these credentials buy; `basic` demands them in each request. */
  login?: { scheme: 'bearer' | 'basic'; user: string; password: string };
  /** Handles a request for a blob itself if it returns true. */
  onBlob?: (request: IncomingMessage, response: ServerResponse, content: Buffer) => boolean;
}

/** A registry with one repository, `team/app`; records its requests. */
export class TestRegistry {
  readonly content: RegistryContent;
  readonly options: RegistryOptions;
  readonly requests: string[] = [];
  /** Tokens that are accepted; clearing them makes all of them expire. */
  readonly tokens = new Set<string>();
  readonly #server = createServer((request, response) => this.#answer(request, response));
  #issued = 0;

  constructor(content: RegistryContent, options: RegistryOptions = {}) {
    this.content = content;
    this.options = options;
  }

  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await new Promise((resolve) => this.#server.once('listening', resolve));
    return this.host;
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url!, 'http://localhost');
    this.requests.push(`${pathname}${request.headers.range === undefined ? '' : ` ${request.headers.range}`}`);
    if (pathname === '/token') {
      assert.equal(searchParams.get('scope'), 'repository:team/app:pull');
      if (!this.#isLoggedIn(request)) return void response.writeHead(401).end();
      const token = `token-${(this.#issued += 1)}`;
      this.tokens.add(token);
      return void response.end(JSON.stringify({ token }));
    }
    if (!this.#isAuthorized(request))
      return void response.writeHead(401, { 'www-authenticate': this.#challenge }).end();
    const [, kind, version = ''] = /^\/v2\/team\/app\/(blobs|manifests)\/(.+)$/.exec(pathname) ?? [];
    const { blobs, tags } = this.content;
    const content = kind === 'manifests' ? (tags[version] ?? blobs.get(version)) : blobs.get(version);
    if (content === undefined) return void response.writeHead(404).end();
    if (kind === 'blobs' && this.options.onBlob?.(request, response, content) === true) return;
    response.end(content);
  }

  #isLoggedIn(request: IncomingMessage): boolean {
    const { user = '', password = '' } = this.options.login ?? {};
    return request.headers.authorization === `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  }

  #isAuthorized(request: IncomingMessage): boolean {
    const { login } = this.options;
    if (login === undefined) return true;
    if (login.scheme === 'basic') return this.#isLoggedIn(request);
    return this.tokens.has((request.headers.authorization ?? '').replace(/^Bearer /, ''));
  }

  get #challenge(): string {
    if (this.options.login?.scheme === 'basic') return 'Basic realm="registry"';
    return `Bearer realm="http://${this.host}/token",service="registry",scope="repository:team/app:pull"`;
  }
}
