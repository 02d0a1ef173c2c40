import type { RemoteCode } from '../protocol/codes.ts';
import type { Ingress } from '../protocol/messages.ts';

/** An audit entry; each is stored permanently as one line. */
export type AuditEntry =
  | { action: 'started' | 'stopped'; detail: string }
  | {
      action: 'rejected';
      client: string | null;
      ingress: Ingress;
      remote_address: string;
      code: RemoteCode;
      event_name: string | null;
    }
  | { action: 'resolved'; client: string; correlation_id: string; event_name: string; digest: string }
  | {
      action: 'executed';
      client: string;
      correlation_id: string;
      event_name: string;
      tier: string;
      status: 'success' | 'error';
      code: RemoteCode | null;
      duration_ms: number;
    }
  | {
      action: 'responded';
      client: string;
      correlation_id: string;
      ingress: Ingress;
      status: string;
      payload_sha256: string;
    }
  | { action: 'canceled' | 'acknowledged'; client: string; correlation_id: string }
  | { action: 'pulled' | 'evicted'; event_name: string; source: string; digest: string }
  | {
      /** Result of the static scan of an event's code; names at most the first 20 findings. */
      action: 'code_findings';
      event_name: string;
      source: string;
      digest: string;
      refused: boolean;
      count: number;
      findings: readonly string[];
    }
  | { action: 'keys_changed'; detail: string }
  /** Older files were deleted; `last_seq` and `last_hash` identify the last line in them. */
  | { action: 'pruned'; last_seq: number; last_hash: string; detail: string }
  /** Written by the log itself: entries that it dropped, and repairs made when it was opened. */
  | { action: 'suppressed' | 'lost'; count: number; detail: string }
  | { action: 'repaired'; detail: string; torn_bytes: number; torn_text: string };

export interface AuditLog {
  /**
   * Never throws and never blocks. Entries reach the disk shortly after, in order, each chained to the previous one.
   */
  append(entry: AuditEntry): void;
  close(): Promise<void>;
}
