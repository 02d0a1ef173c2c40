import type { RemoteCode } from '../../protocol/codes.ts';
import type { Ingress } from '../../protocol/messages.ts';

/**
 * A task was accepted (`accepted`), or rewritten with its current state so that an old file can be deleted (`carried`).
 * The record's body is the arguments, if still needed.
 */
export interface AcceptedRecord {
  readonly type: 'accepted' | 'carried';
  readonly id: string;
  readonly client: string;
  readonly ingress: Ingress;
  readonly event_name: string;
  readonly created_at_ms: number;
  /** Absent if the caller sent none; the digest is of the request that the key stands for. */
  readonly key?: string;
  readonly digest?: string;
  readonly timeout_secs?: number;
  readonly deadline_ms?: number;
  readonly traceparent?: string;
  /** Only for carried records. */
  readonly starts?: number;
  readonly repeat?: boolean;
  readonly cancel?: boolean;
}

/** Journal record of a change in a task's life. */
export type JournalRecord =
  | AcceptedRecord
  /** A process is about to receive the job; `repeat` if an interrupted run may be repeated. */
  | { readonly type: 'started'; readonly id: string; readonly repeat?: boolean }
  /** No process received it: the last start does not count. */
  | { readonly type: 'returned'; readonly id: string }
  /** Its caller requested cancellation. */
  | { readonly type: 'cancel'; readonly id: string }
  /** It ended; the body is the payload of the response. */
  | { readonly type: 'ended'; readonly id: string; readonly code: RemoteCode | null; readonly at_ms: number }
  /** Their callers have received the outcomes. */
  | { readonly type: 'acknowledged'; readonly ids: readonly string[]; readonly at_ms: number }
  /** Treated as if they never existed: rejected after all, or evicted early. */
  | { readonly type: 'removed'; readonly ids: readonly string[] };

/** Location of a body. The segment is unset until it is written. */
export interface Location {
  segment: number;
  at: number;
  readonly length: number;
}
