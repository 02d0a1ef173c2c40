import type { TokenScope } from './token.ts';

/** What opened a session: a token, or an identity that the provider vouched for. */
export type SessionOwner =
  | { readonly token_id: string }
  | {
      readonly issuer: string;
      /** Stable id of the user at the issuer. */
      readonly subject: string;
      /** The user's name, for people. */
      readonly name: string;
      readonly scopes: readonly TokenScope[];
    };

/** Login of a browser. Of the value of its cookie only the SHA-256 is stored. Times are milliseconds since the epoch. */
export interface Session {
  id: string;
  secret_hash: Uint8Array;
  /** The token that opened it; null: an identity did. */
  token_id: string | null;
  issuer: string | null;
  subject: string | null;
  /** Name of the token or of the identity. */
  name: string;
  scopes: readonly TokenScope[];
  /** Limits of the token, null: none. */
  kinds: readonly string[] | null;
  classes: readonly string[] | null;
  created_at: number;
  last_used_at: number;
  /** Its absolute end, at the latest that of its token. */
  expires_at: number;
  /** Network address of the last use. */
  address: string | null;
  /** Name of the browser. */
  browser: string | null;
}

/** Returns whether the session has neither expired nor been idle for too long. A revoked one is not read at all. */
export function isSessionLive({ expires_at, last_used_at }: Session, nowMs: number, idleMs: number): boolean {
  return expires_at > nowMs && last_used_at + idleMs > nowMs;
}

/** What identifies the owner of a session. */
export type OwnerKey = Pick<Session, 'token_id' | 'issuer' | 'subject'>;

/** Returns whether both are the same token or identity. */
export function isSameOwner(one: OwnerKey, other: OwnerKey): boolean {
  return one.token_id === other.token_id && one.issuer === other.issuer && one.subject === other.subject;
}
