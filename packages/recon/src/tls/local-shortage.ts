import type { ProbeEnvironment } from '../options.ts';

const SHORTAGES: Readonly<Record<string, string>> = {
  EMFILE: 'the process has reached its limit of open files (ulimit -n)',
  ENFILE: 'the system has reached its limit of open files',
  ENOBUFS: 'the system has no memory for another socket',
  ENOMEM: 'the system has no memory for another socket',
  EADDRNOTAVAIL: 'no local port is free for another connection (or the machine has no address of that family)',
};

const PAUSE_MIN_MS = 20;
const PAUSE_MAX_MS = 500;
/** If no connection has ended for longer than one may take, waiting does not help. */
const WAIT_BEYOND_TIMEOUT_MS = 1000;
/** A missing address family never becomes available, whatever else ends. */
const TRIES_WITHOUT_ADDRESS_MAX = 8;

/** Error prefix in the record of an endpoint that was not connected to. */
export const NOT_PROBED = 'not probed: ';

/** Returns what this machine lacked for a connection; null if the error concerns the peer. */
export function shortageOf(code: string | undefined): string | null {
  return SHORTAGES[code ?? ''] ?? null;
}

/**
 * Retries connections for which this machine had no socket or port: they were not made, say nothing about their
 * target, and are repeated after others have ended.
 */
export class LocalShortage {
  readonly #environment: ProbeEnvironment;
  readonly #maxWaitMs: number;
  /** When a successful connection last ended, on the monotonic clock. */
  #endedAt = 0;
  #isReported = false;

  constructor(environment: ProbeEnvironment, timeoutMs: number) {
    this.#environment = environment;
    this.#maxWaitMs = timeoutMs + WAIT_BEYOND_TIMEOUT_MS;
  }

  /**
   * Returns the result of a connection; one with a shortage only if it persists.
   *
   * @param lacked extracts from a result what this machine lacked; null if the connection was made
   * @throws any error of `connect`; the signal's reason when it aborts
   */
  async around<T>(connect: () => Promise<T>, lacked: (result: T) => string | null): Promise<T> {
    const { clock, signal } = this.#environment;
    const startedAt = clock.monotonic();
    for (let tries = 1, pauseMs = PAUSE_MIN_MS; ; tries += 1, pauseMs = Math.min(PAUSE_MAX_MS, pauseMs * 2)) {
      const result = await connect();
      const now = clock.monotonic();
      const shortage = lacked(result);
      if (shortage === null) {
        this.#endedAt = now;
        return result;
      }
      this.#report(shortage);
      const isHopeless = shortage.includes(SHORTAGES['EADDRNOTAVAIL']!) && tries >= TRIES_WITHOUT_ADDRESS_MAX;
      if (isHopeless || now - Math.max(startedAt, this.#endedAt) > this.#maxWaitMs) return result;
      await clock.sleep(pauseMs, signal);
      signal.throwIfAborted();
    }
  }

  #report(shortage: string): void {
    if (this.#isReported) return;
    this.#isReported = true;
    this.#environment.onNotice?.(`connections reduced: ${shortage.replace(NOT_PROBED, '')}`);
  }
}
