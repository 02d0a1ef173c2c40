import type { Endpoint } from '../../targets/port.ts';
import type { AttemptResult } from './attempt.ts';

/** A connection under way. */
export interface RunningAttempt {
  /** On the monotonic clock: whoever holds it calls `expire` then. */
  readonly deadline: number;
  expire(): void;
  /** Closes the socket; nothing is said any more. */
  abandon(): void;
}

/** How connections are made. */
export interface Connector {
  /** Begins one; `done` is called once, later than this returns, unless it is abandoned. */
  begin(endpoint: Endpoint, timeoutMs: number, done: (result: AttemptResult) => void): RunningAttempt;
  /**
   * Looks which connections have been answered, and returns whether any was. Only where nobody else does: the event loop
   * looks after sockets of its own.
   */
  readonly poll?: () => boolean;
  /** Closes what it kept for connections to come. */
  readonly close?: () => void;
}
