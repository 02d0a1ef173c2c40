import type { FastifyReply, FastifyRequest } from 'fastify';

import type { Clock } from '@heddle/base/clock';
import { isSessionLive, type Session, type SessionOwner } from '@heddle/core/domain/session';
import type { SessionRepository } from '../ports.ts';
import { browserName } from './browser-name.ts';
import { cookieText, readCookie } from './cookies.ts';
import { CredentialCache } from './credential-cache.ts';

const COOKIE = 'heddle_session';
const SECRET = /^hds_[A-Za-z0-9_-]{43}$/;
const TOUCH_INTERVAL_MS = 60_000;
/** Last uses are recorded several times within the idle timeout. */
const TOUCHES_PER_IDLE_TIMEOUT = 4;
const ADDRESS_CHARS_MAX = 100;

export interface SessionsOptions {
  repository: SessionRepository;
  clock: Clock;
  /** Whether browsers use HTTPS, whatever a request says. */
  secure: boolean;
  /** Issuer of identities; null: sessions of identities have ended. */
  issuer: string | null;
}

/** The sessions of browsers: a cookie that scripts cannot read, and that other sites cannot make browsers send. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #cache: CredentialCache<Session>;

  constructor(options: SessionsOptions) {
    this.#options = options;
    const { repository, clock } = options;
    this.#cache = new CredentialCache({
      clock,
      lookUp: (hashes) => repository.findByHashes(hashes),
      hashOf: ({ secret_hash }) => secret_hash,
      isLive: (session) => isSessionLive(session, clock.now(), repository.idleMs) && this.#isOfIssuer(session),
      touchIntervalMs: Math.min(TOUCH_INTERVAL_MS, repository.idleMs / TOUCHES_PER_IDLE_TIMEOUT),
    });
  }

  /** Returns whether the request has the cookie of a session, live or not. */
  isPresented(request: FastifyRequest): boolean {
    return readCookie(request, COOKIE) !== null;
  }

  /** Returns the live session of the request's cookie; null if there is none. */
  async find(request: FastifyRequest): Promise<Session | null> {
    const secret = readCookie(request, COOKIE);
    if (secret === null || !SECRET.test(secret)) return null;
    const { repository, clock } = this.#options;
    return this.#cache.find(secret, ({ id }) => repository.touch(id, clock.now(), addressOf(request)));
  }

  /**
   * Opens a session and gives the browser its cookie; a session that the browser had ends.
   * @returns null if the token of the owner was revoked in the meantime
   */
  async open(owner: SessionOwner, request: FastifyRequest, reply: FastifyReply): Promise<Session | null> {
    const { repository, clock } = this.#options;
    const former = await this.find(request);
    const from = { address: addressOf(request), browser: browserName(request.headers['user-agent']) };
    const { secret, session } = await repository.open(owner, from);
    if (session === null) return null;
    if (former !== null) await this.end(former);
    const maxAgeSecs = Math.max(1, Math.ceil((session.expires_at - clock.now()) / 1000));
    this.#setCookie(request, reply, secret, maxAgeSecs);
    return session;
  }

  async end(session: Session): Promise<void> {
    await this.#options.repository.end(session.id);
    this.#cache.forget(session);
  }

  clearCookie(request: FastifyRequest, reply: FastifyReply): void {
    this.#setCookie(request, reply, '', 0);
  }

  /** Whether cookies for this request are sent over HTTPS only. */
  isSecure(request: FastifyRequest): boolean {
    return this.#options.secure || request.protocol === 'https';
  }

  #setCookie(request: FastifyRequest, reply: FastifyReply, value: string, maxAgeSecs: number): void {
    const options = { path: '/', sameSite: 'Strict', maxAgeSecs, secure: this.isSecure(request) } as const;
    void reply.header('set-cookie', cookieText(COOKIE, value, options));
  }

  #isOfIssuer({ issuer }: Session): boolean {
    return issuer === null || issuer === this.#options.issuer;
  }
}

function addressOf({ ip }: FastifyRequest): string {
  return ip.slice(0, ADDRESS_CHARS_MAX);
}
