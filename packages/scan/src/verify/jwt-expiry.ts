import type { Judged } from './judge-answer.ts';

/** Judges a JSON Web Token by the time at which it says that it expires. @param nowMs since the epoch */
export function judgeJwt(token: string, nowMs: number): Judged {
  const unknown = (reason: string): Judged => ({ verdict: 'unknown', reason, identity: null, permissions: [] });
  const claims = claimsOf(token);
  if (claims === null) return unknown('its claims cannot be read');
  if (typeof claims.exp !== 'number' || !Number.isFinite(claims.exp))
    return unknown('it states no time of expiry, and its issuer is not asked');
  const expires = new Date(claims.exp * 1000);
  const day = Number.isNaN(expires.getTime()) ? null : expires.toISOString();
  if (day === null) return unknown('its time of expiry is not a time');
  if (expires.getTime() <= nowMs)
    return { verdict: 'inactive', reason: `it expired at ${day}`, identity: null, permissions: [] };
  return unknown(`it expires at ${day}, and its issuer is not asked`);
}

function claimsOf(token: string): { exp?: unknown } | null {
  try {
    const [, body = ''] = token.split('.');
    const claims: unknown = JSON.parse(Buffer.from(body, 'base64url').toString('utf8'));
    return typeof claims === 'object' && claims !== null ? claims : null;
  } catch {
    return null;
  }
}
