/**
 * Scope of an API token. `operate` includes `read` and `work`, `admin` includes everything; the others include nothing
 * else. `command` adds tasks of the kind `Command` to what `submit` and others may submit; `runner` registers runners.
 */
export const TOKEN_SCOPES = ['read', 'submit', 'work', 'operate', 'command', 'runner', 'admin'] as const;

export type TokenScope = (typeof TOKEN_SCOPES)[number];

/** Stored token: the SHA-256 of its value, never the value. Times are milliseconds since the epoch. */
export interface ApiToken {
  id: string;
  name: string;
  token_hash: Uint8Array;
  scopes: readonly TokenScope[];
  /** Kinds whose tasks it may claim; null: any. */
  kinds: readonly string[] | null;
  /** Classes of the runners that it may register; null: any. */
  classes: readonly string[] | null;
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
  last_used_at: number | null;
}

const INCLUDED = {
  read: ['read', 'operate', 'admin'],
  submit: ['submit', 'admin'],
  work: ['work', 'operate', 'admin'],
  operate: ['operate', 'admin'],
  command: ['command', 'admin'],
  runner: ['runner', 'admin'],
  admin: ['admin'],
} as const satisfies Record<TokenScope, readonly TokenScope[]>;

/** Returns whether a token with these scopes may use an operation that requires `needed`. */
export function grants(scopes: readonly TokenScope[], needed: TokenScope): boolean {
  return INCLUDED[needed].some((scope) => scopes.includes(scope));
}

/** Returns every scope that these include. */
export function grantedScopes(scopes: readonly TokenScope[]): TokenScope[] {
  return TOKEN_SCOPES.filter((scope) => grants(scopes, scope));
}

/** Roles of users, the least powerful first. */
export const ROLES = ['viewer', 'operator', 'admin'] as const;

export type Role = (typeof ROLES)[number];

/** The scopes of each role. */
export const SCOPES_OF_ROLE = {
  viewer: ['read'],
  operator: ['read', 'submit', 'operate'],
  admin: ['admin'],
} as const satisfies Record<Role, readonly TokenScope[]>;

/** Returns the most powerful role whose scopes are all granted; null if not even those of a viewer are. */
export function roleOf(scopes: readonly TokenScope[]): Role | null {
  return ROLES.findLast((role) => SCOPES_OF_ROLE[role].every((scope) => grants(scopes, scope))) ?? null;
}

export const TOKEN_NAME_MAX_CHARS = 255;
/** A name identifies a token in lists and for revocation. */
export const TOKEN_NAME = '^(?!\\s)[^\\u0000-\\u001f\\u007f-\\u009f]+(?<!\\s)$';

export function isTokenScope(text: string): text is TokenScope {
  return (TOKEN_SCOPES as readonly string[]).includes(text);
}

/** Returns whether the token is neither expired nor revoked. */
export function isTokenLive(token: ApiToken, nowMs: number): boolean {
  return token.revoked_at === null && (token.expires_at === null || token.expires_at > nowMs);
}

/** Returns whether the token is usable, and why not. */
export function tokenState(token: ApiToken, nowMs: number): 'live' | 'expired' | 'revoked' {
  if (token.revoked_at !== null) return 'revoked';
  return isTokenLive(token, nowMs) ? 'live' : 'expired';
}
