import type { Tier } from '../../protocol/messages.ts';
import type { Integrity } from '../sources/integrity.ts';

/** One event of the event list. */
export interface EventEntry {
  readonly name: string;
  readonly origin: EntryOrigin;
  /** Module that exports it, relative to the code's directory; null: as in its package.json, or `index`. */
  readonly entry: string | null;
  /** Required digest of the code. */
  readonly sha256: string | null;
  readonly signature: EntrySignature | null;
  /** Evicted when idle, and fetched again on demand. */
  readonly ephemeral: boolean;
  /** Overrides the code's own definition; limited by the executor's bounds. */
  readonly tier: Tier | null;
  readonly timeout_secs: number | null;
  readonly memory_mb: number | null;
  /** Location for messages: `events[2] of /etc/heddle/events.toml`. */
  readonly place: string;
}

export type EntryOrigin =
  | { readonly type: 'local'; /** Absolute. */ readonly path: string }
  | {
      readonly type: 'npm';
      readonly package: string;
      readonly version: string;
      readonly integrity: Integrity;
      /** Null: the executor's default. */
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
