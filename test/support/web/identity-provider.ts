/** A real OpenID Connect provider on loopback, at which users log in with their name alone. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

import Provider from 'oidc-provider';

export const CLIENT_ID = 'heddle';
export const CLIENT_SECRET = 'a-secret-of-the-tests';

const GROUPS: Readonly<Record<string, readonly string[]>> = {
  ann: ['admins', 'sre'],
  oliver: ['sre'],
  vera: ['staff'],
  norbert: [],
};

export class TestIdentityProvider {
  readonly issuer: string;
  /** If set, browsers are not sent back: they get an empty page, and the address is kept in `held`. */
  isHolding = false;
  held: string | null = null;
  readonly #redirectUri: string;
  readonly #server: Server;
  readonly #handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>;

  private constructor(server: Server, issuer: string, redirectUri: string) {
    this.#server = server;
    this.issuer = issuer;
    this.#redirectUri = redirectUri;
    const provider: Provider = new Provider(issuer, {
      clients: [
        { client_id: CLIENT_ID, client_secret: CLIENT_SECRET, redirect_uris: [redirectUri], response_types: ['code'] },
      ],
      claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
      features: { devInteractions: { enabled: false } },
      cookies: { keys: ['a-key-of-the-tests'] },
      interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
      findAccount: (_context, accountId) => ({
        accountId,
        claims: () => ({
          sub: accountId,
          email: `${accountId}@example.com`,
          email_verified: true,
          groups: [...(GROUPS[accountId] ?? [])],
        }),
      }),
      loadExistingGrant: async (context) => {
        const { client, session } = context.oidc;
        const grant = new provider.Grant({ clientId: client!.clientId, accountId: session!.accountId! });
        grant.addOIDCScope('openid profile email groups');
        await grant.save();
        return grant;
      },
    });
    const callback = provider.callback();
    this.#handle = async (request, response) => {
      if (this.isHolding) this.#hold(response);
      if (request.url?.startsWith('/interaction/') !== true) {
        await callback(request, response);
        return;
      }
      if (request.method === 'POST') {
        const login = new URLSearchParams(await text(request)).get('login')!;
        await provider.interactionFinished(request, response, { login: { accountId: login } });
        return;
      }
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(
        '<title>Provider</title><form method="post"><label>Name <input name="login" autofocus></label><button>Sign in</button></form>',
      );
    };
  }

  /** @param redirectUri where clients may be sent back to */
  static async start(redirectUri: string): Promise<TestIdentityProvider> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    // Another site than that of 127.0.0.1, for browsers.
    const issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
    const made = new TestIdentityProvider(server, issuer, redirectUri);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      made.#handle(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
    });
    return made;
  }

  /** Replaces the redirect back to the client. */
  #hold(response: ServerResponse): void {
    const end = response.end.bind(response);
    response.end = ((...given: []) => {
      const address = response.getHeader('location');
      if (typeof address !== 'string' || !address.startsWith(this.#redirectUri)) return end(...given);
      this.held = address;
      for (const name of response.getHeaderNames()) if (name !== 'set-cookie') response.removeHeader(name);
      response.writeHead(200, { 'content-type': 'text/html' });
      return end('<title>Held</title><p>Held</p>');
    }) as typeof response.end;
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}
