import type { Tier } from '../../protocol/messages.ts';
import type { Integrity } from '../sources/integrity.ts';

/** One event of the list. */
export interface EventEntry {
  readonly name: string;
  readonly origin: EntryOrigin;
  /** The module that exports it, from the code's directory; null: what its package.json says, or `index`. */
  readonly entry: string | null;
  /** What the code's digest must be. */
  readonly sha256: string | null;
  readonly signature: EntrySignature | null;
  /** Deleted when nobody used it for a while, and fetched again when it is asked for. */
  readonly ephemeral: boolean;
  /** Whatever the code says of itself, and whatever the executor's own bounds are. */
  readonly tier: Tier | null;
  readonly timeout_secs: number | null;
  readonly memory_mb: number | null;
  /** Where it stands, for messages: `events[2] of /etc/heddle/events.toml`. */
  readonly place: string;
}

export type EntryOrigin =
  | { readonly type: 'local'; /** Absolute. */ readonly path: string }
  | {
      readonly type: 'npm';
      readonly package: string;
      readonly version: string;
      readonly integrity: Integrity;
      /** Null: the executor's. */
      readonly registry: string | null;
      readonly tokenFile: string | null;
    }
  | {
      readonly type: 'git';
      readonly url: string;
      readonly commit: string;
      readonly ref: string | null;
      readonly tokenFile: string | null;
    };

export interface EntrySignature {
  /** Raw Ed25519 key, 32 bytes. */
  readonly public_key: Buffer;
  /** 64 bytes. */
  readonly value: Buffer;
}

export const EVENT_NAME = /^[A-Za-z0-9_.-]{1,200}$/;
