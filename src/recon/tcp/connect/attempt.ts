import { connect, type Socket } from 'node:net';

import type { Clock } from '../../../runtime/clock.ts';
import type { Endpoint } from '../../targets/port.ts';
import { Banner, BANNER_QUIET_MS, BANNER_WAIT_MS } from './banner.ts';
import type { Connector, RunningAttempt } from './connector.ts';
import { type ConnectOutcome, outcomeOfError } from './outcome.ts';

export interface AttemptResult {
  outcome: ConnectOutcome;
  /** From the call to its answer; null where there was none. */
  rtt_ms: number | null;
  banner?: string;
}

/**
 * One connection, from the call to its end. It is over when `done` was called, exactly once, and its socket is gone by
 * then. It has no timer of its own: whoever holds it calls `expire` when its deadline has passed.
 */
export class Attempt implements RunningAttempt {
  readonly endpoint: Endpoint;
  /** On the monotonic clock. */
  deadline: number;
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #done: (result: AttemptResult) => void;
  readonly #banner: Banner | null;
  #rttMs: number | null = null;
  #over = false;

  constructor(
    endpoint: Endpoint,
    options: { clock: Clock; timeout_ms: number; banner: boolean },
    done: (result: AttemptResult) => void,
  ) {
    this.endpoint = endpoint;
    this.#clock = options.clock;
    this.#startedAt = options.clock.monotonic();
    this.deadline = this.#startedAt + options.timeout_ms;
    this.#banner = options.banner ? new Banner() : null;
    this.#done = done;
    const { ip, family, port } = endpoint;
    this.#socket = connect({ host: ip, port, family, autoSelectFamily: false });
    // Stays until the socket is collected: an error that comes late must not end the process.
    this.#socket.on('error', (error: NodeJS.ErrnoException) => this.#failed(error));
    this.#socket.once('connect', () => this.#connected());
  }

  /** The deadline has passed: what was not answered is silence, what was read so far is the banner. */
  expire(): void {
    if (this.#rttMs !== null) this.#open('connected');
    else this.#end({ outcome: { type: 'silence', reason: 'no-response' }, rtt_ms: null });
  }

  /** Closes the socket; `done` is not called any more. */
  abandon(): void {
    this.#over = true;
    this.#release();
  }

  #connected(): void {
    if (this.#over) return;
    this.#rttMs = this.#clock.monotonic() - this.#startedAt;
    if (this.#metItself()) {
      this.#end({ outcome: { type: 'answer', state: 'closed', reason: 'self-connect' }, rtt_ms: this.#rttMs });
    } else if (this.#banner === null) {
      this.#open('connected');
    } else {
      this.#listen(this.#banner);
    }
  }

  /** Where nobody listens at a port of this machine that the system then picks as the local one, it connects to itself. */
  #metItself(): boolean {
    const { localPort, localAddress, remoteAddress } = this.#socket;
    return localPort === this.endpoint.port && localAddress === remoteAddress;
  }

  #listen(banner: Banner): void {
    const until = this.#clock.monotonic() + BANNER_WAIT_MS;
    this.deadline = until;
    this.#socket.on('data', (chunk) => {
      if (this.#over) return;
      if (!banner.add(chunk)) this.#open('connected');
      else this.deadline = Math.min(until, this.#clock.monotonic() + BANNER_QUIET_MS);
    });
    this.#socket.once('end', () => this.#open('connected'));
    this.#socket.once('close', () => this.#open('connected'));
  }

  #failed(error: NodeJS.ErrnoException): void {
    if (this.#over) return;
    if (this.#rttMs !== null) {
      this.#open('connected');
      return;
    }
    const outcome = outcomeOfError(error.code ?? 'unknown');
    const answered = outcome.type === 'answer' || outcome.type === 'silence';
    this.#end({ outcome, rtt_ms: answered ? this.#clock.monotonic() - this.#startedAt : null });
  }

  #open(reason: string): void {
    const banner = this.#banner === null || this.#banner.empty ? {} : { banner: this.#banner.text() };
    this.#end({ outcome: { type: 'answer', state: 'open', reason }, rtt_ms: this.#rttMs, ...banner });
  }

  #end(result: AttemptResult): void {
    if (this.#over) return;
    this.#over = true;
    this.#release();
    this.#done(result);
  }

  /** A reset, not an orderly end: nothing is left of it then, and the local port is free for the next one. */
  #release(): void {
    if (this.#rttMs !== null) this.#socket.resetAndDestroy();
    else this.#socket.destroy();
  }
}

/** Connections as Node makes them, watched by its event loop. */
export function nodeConnector(clock: Clock, banner: boolean): Connector {
  return {
    begin: (endpoint, timeout_ms, done) => new Attempt(endpoint, { clock, timeout_ms, banner }, done),
  };
}
