import type { Endpoint } from '../../targets/port.ts';
import type { AttemptResult } from './attempt.ts';

/** A connection in progress. */
export interface RunningAttempt {
  /** On the monotonic clock; the owner calls `expire` then. */
  readonly deadline: number;
  expire(): void;
  /** Closes the socket without any callback. */
  abandon(): void;
}

/** Creates connections. */
export interface Connector {
  /** Starts a connection; `done` is called once, after this returns, unless it is abandoned. */
  begin(endpoint: Endpoint, timeoutMs: number, done: (result: AttemptResult) => void): RunningAttempt;
  /**
   * Polls for answered connections and returns whether there were any. Absent if the event loop watches the sockets.
   */
  readonly poll?: () => boolean;
  /** Closes sockets kept for reuse. */
  readonly close?: () => void;
}
