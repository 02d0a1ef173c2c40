import type { RemoteCode } from '../../protocol/codes.ts';
import type { Ingress } from '../../protocol/messages.ts';

/**
 * A task was taken (`accepted`), or is written again with what is known by then so that an old file can go (`carried`); the
 * record's body is its arguments, where they are still needed.
 */
export interface AcceptedRecord {
  readonly type: 'accepted' | 'carried';
  readonly id: string;
  readonly client: string;
  readonly ingress: Ingress;
  readonly event_name: string;
  readonly created_at_ms: number;
  /** Absent where the caller gave none; the digest is that of the request which the key stands for. */
  readonly key?: string;
  readonly digest?: string;
  readonly timeout_secs?: number;
  readonly deadline_ms?: number;
  readonly traceparent?: string;
  /** Of one that is carried. */
  readonly starts?: number;
  readonly repeat?: boolean;
  readonly cancel?: boolean;
}

/** What happens in the life of a task, as it is kept. */
export type JournalRecord =
  | AcceptedRecord
  /** Its process is about to be given the job; `repeat` where a run that is cut short may be repeated. */
  | { readonly type: 'started'; readonly id: string; readonly repeat?: boolean }
  /** No process was given it after all: the start that was written last does not count. */
  | { readonly type: 'returned'; readonly id: string }
  /** Its caller wants it ended. */
  | { readonly type: 'cancel'; readonly id: string }
  /** It is over; the body is the payload of the answer. */
  | { readonly type: 'ended'; readonly id: string; readonly code: RemoteCode | null; readonly at_ms: number }
  /** Their callers have the outcomes. */
  | { readonly type: 'acknowledged'; readonly ids: readonly string[]; readonly at_ms: number }
  /** They are to be as if they had never been: refused after all, or forgotten before their time. */
  | { readonly type: 'removed'; readonly ids: readonly string[] };

/** Where a body stands. Without a segment until it is written. */
export interface Location {
  segment: number;
  at: number;
  readonly length: number;
}
