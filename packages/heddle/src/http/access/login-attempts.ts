import type { FastifyReply, FastifyRequest } from 'fastify';

import type { Clock } from '@heddle/base/clock';
import { loginSignature, verifyLoginSignature } from '@heddle/base/signing';
import type { LoginChecks, SigningKeys } from '../ports.ts';
import { cookieText, readCookie } from './cookies.ts';

const COOKIE = 'heddle_login';
const PATH = '/login/oidc';
const LIFE_SECS = 600;

/** A login that is under way at the identity provider. */
export interface LoginAttempt extends LoginChecks {
  /** Path of this server to come back to. */
  readonly return_to: string;
}

/**
 * Logins that are under way: in a signed cookie of the browser, so that every server can finish them and none has to
 * store anything for strangers. `Lax`, because it must come along when the provider redirects the browser back.
 */
export class LoginAttempts {
  readonly #keys: SigningKeys;
  readonly #clock: Clock;

  constructor(keys: SigningKeys, clock: Clock) {
    this.#keys = keys;
    this.#clock = clock;
  }

  async store(attempt: LoginAttempt, reply: FastifyReply, secure: boolean): Promise<void> {
    const expires_at = this.#clock.now() + LIFE_SECS * 1000;
    const text = Buffer.from(JSON.stringify({ ...attempt, expires_at })).toString('base64url');
    const [key] = await this.#keys.keys('handle');
    setCookie(reply, `${text}.${loginSignature(text, key!)}`, LIFE_SECS, secure);
  }

  /** Returns the login that the browser began, and deletes its cookie; null if there is none, or it is too old. */
  async take(request: FastifyRequest, reply: FastifyReply, secure: boolean): Promise<LoginAttempt | null> {
    const [text = '', signature = ''] = (readCookie(request, COOKIE) ?? '').split('.');
    setCookie(reply, '', 0, secure);
    if (!verifyLoginSignature(text, signature, await this.#keys.keys('handle'))) return null;
    const stored = JSON.parse(Buffer.from(text, 'base64url').toString()) as LoginAttempt & { expires_at: number };
    return stored.expires_at > this.#clock.now() ? stored : null;
  }
}

function setCookie(reply: FastifyReply, value: string, maxAgeSecs: number, secure: boolean): void {
  // Appended to those that are set already.
  void reply.header('set-cookie', cookieText(COOKIE, value, { path: PATH, sameSite: 'Lax', maxAgeSecs, secure }));
}

const PATH_CHARS_MAX = 2_000;
const SOMEWHERE = 'http://own.invalid';

/** Returns the path if it is one of this server, whatever a browser makes of it; else `/`. */
export function ownPath(text: string | undefined): string {
  if (text === undefined || text.length > PATH_CHARS_MAX || !/^\/(?![/\\])[^\s\\\p{Cc}]*$/u.test(text)) return '/';
  const url = URL.parse(text, SOMEWHERE);
  if (url?.origin !== SOMEWHERE || url.pathname.startsWith('//') || url.pathname.startsWith('/login/')) return '/';
  return `${url.pathname}${url.search}${url.hash}`;
}
