import type { FastifyRequest } from 'fastify';

/** Cookie headers are bounded by the server's limit of all headers. */
export function readCookie({ headers }: Pick<FastifyRequest, 'headers'>, name: string): string | null {
  for (const part of (headers.cookie ?? '').split(';')) {
    const at = part.indexOf('=');
    if (at > 0 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim();
  }
  return null;
}

export interface CookieOptions {
  path: string;
  sameSite: 'Strict' | 'Lax';
  /** 0 deletes it. */
  maxAgeSecs: number;
  secure: boolean;
}

/** Returns the `Set-Cookie` of a cookie that scripts cannot read. @param value characters of base64url, and dots */
export function cookieText(name: string, value: string, { path, sameSite, maxAgeSecs, secure }: CookieOptions): string {
  const attributes = [`Path=${path}`, `Max-Age=${maxAgeSecs}`, 'HttpOnly', `SameSite=${sameSite}`];
  return [`${name}=${value}`, ...attributes, ...(secure ? ['Secure'] : [])].join('; ');
}
