import type { ProbeEnvironment } from '../options.ts';

const SHORTAGES: Readonly<Record<string, string>> = {
  EMFILE: 'the process may open no more files (ulimit -n)',
  ENFILE: 'the system can open no more files',
  ENOBUFS: 'the system has no memory for another socket',
  ENOMEM: 'the system has no memory for another socket',
  EADDRNOTAVAIL: 'no local port is free for another connection (or the machine has no address of that family)',
};

const PAUSE_MIN_MS = 20;
const PAUSE_MAX_MS = 500;
/** Where no connection has ended for longer than one may take, nothing gets better by waiting. */
const WAIT_BEYOND_TIMEOUT_MS = 1000;
/** An address of a family that the machine has none of is never to be had, whatever else ends. */
const TRIES_WITHOUT_ADDRESS_MAX = 8;

/** How the record of an endpoint begins that was not connected to at all. */
export const NOT_PROBED = 'not probed: ';

/** What this machine lacked for a connection, in words; null where an error says something of the other side. */
export function shortageOf(code: string | undefined): string | null {
  return SHORTAGES[code ?? ''] ?? null;
}

/**
 * Connections of a scan that this machine may have no socket or port for: such a one was not made, says nothing of its target,
 * and is made again when others have ended.
 */
export class LocalShortage {
  readonly #environment: ProbeEnvironment;
  readonly #patienceMs: number;
  /** When a connection that was made has ended last, on the monotonic clock. */
  #endedAt = 0;
  #isTold = false;

  constructor(environment: ProbeEnvironment, timeoutMs: number) {
    this.#environment = environment;
    this.#patienceMs = timeoutMs + WAIT_BEYOND_TIMEOUT_MS;
  }

  /**
   * The result of a connection; one with a shortage only where that does not pass.
   *
   * @param lacked what its result says that this machine lacked; null where it was made
   * @throws what `connect` throws; the signal's reason when it aborts
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
      this.#tell(shortage);
      const isHopeless = shortage.includes(SHORTAGES['EADDRNOTAVAIL']!) && tries >= TRIES_WITHOUT_ADDRESS_MAX;
      if (isHopeless || now - Math.max(startedAt, this.#endedAt) > this.#patienceMs) return result;
      await clock.sleep(pauseMs, signal);
      signal.throwIfAborted();
    }
  }

  #tell(shortage: string): void {
    if (this.#isTold) return;
    this.#isTold = true;
    this.#environment.onNotice?.(`fewer connections at once: ${shortage.replace(NOT_PROBED, '')}`);
  }
}
