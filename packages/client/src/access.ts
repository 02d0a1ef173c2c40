import type { Transport } from './transport.ts';
import type { CreatedTokenDto, LoginStateDto, NewTokenDto, SessionDto, TokenDto } from './wire-types.ts';

/** Logins of browsers, and tokens. */
export class AccessClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Returns who is logged in, and how one can log in. */
  session(): Promise<LoginStateDto> {
    return this.#transport.json('GET', '/v1/session');
  }

  /** Logs the browser in: its cookie authorizes further requests of pages of the server. */
  logIn(token: string): Promise<LoginStateDto> {
    return this.#transport.json('POST', '/v1/session', { body: { token } });
  }

  async logOut(): Promise<void> {
    await this.#transport.send('DELETE', '/v1/session');
  }

  /** Returns the caller's own sessions, with `admin` all; with `user` only those of users of this name. */
  listSessions(filter: { user?: string } = {}): Promise<SessionDto[]> {
    return this.#transport.json('GET', '/v1/sessions', { query: { ...filter } });
  }

  async endSession(id: string): Promise<void> {
    await this.#transport.send('DELETE', `/v1/sessions/${encodeURIComponent(id)}`);
  }

  listTokens(): Promise<TokenDto[]> {
    return this.#transport.json('GET', '/v1/tokens');
  }

  /** Returns the token itself as well, which is shown once. */
  createToken(token: NewTokenDto): Promise<CreatedTokenDto> {
    return this.#transport.json('POST', '/v1/tokens', { body: token });
  }

  async revokeToken(id: string): Promise<void> {
    await this.#transport.send('DELETE', `/v1/tokens/${encodeURIComponent(id)}`);
  }
}
