import type { RemoteCode } from '../protocol/codes.ts';
import type { SignedResponse } from '../protocol/envelope.ts';
import type { Ingress, Tier } from '../protocol/messages.ts';
import type { Received } from '../security/port.ts';

export interface Reply {
  readonly response: SignedResponse;
  /** Null where it is no error. */
  readonly code: RemoteCode | null;
  /** Whether the task is still to end. */
  readonly pending: boolean;
  readonly retryAfterSecs: number | undefined;
}

/** What the listeners talk to; all of them the same one. */
export interface RemoteManager {
  /**
   * Answers one request; never throws. A synchronous submission is answered when its task is over.
   *
   * @param onProgress gets answers on the way, for protocols that can pass them on
   */
  handle(received: Received, onProgress?: (reply: Reply) => void): Promise<Reply>;
  health(): Health;
}

/** `GET /healthz`. */
export interface Health {
  status: 'healthy' | 'draining' | 'degraded';
  workers: number;
  busy: number;
  queue_depth: number;
  uptime_seconds: number;
  tier: Tier;
  listeners: readonly Ingress[];
  /** Why it is degraded; absent where it is not. */
  reason?: string;
}
