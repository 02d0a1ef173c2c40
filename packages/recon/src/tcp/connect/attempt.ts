import { connect, type Socket } from 'node:net';

import type { Clock } from '@heddle/base/clock';
import type { Endpoint } from '../../targets/port.ts';
import { Banner, BANNER_QUIET_MS, BANNER_WAIT_MS } from './banner.ts';
import type { Connector, RunningAttempt } from './connector.ts';
import { type ConnectOutcome, outcomeOfError } from './outcome.ts';

export interface AttemptResult {
  outcome: ConnectOutcome;
  /** From the call to the answer; null without one. */
  rtt_ms: number | null;
  banner?: string;
}

/**
 * One connection attempt. `done` is called exactly once, after its socket is closed. It has no timer: the owner calls
 * `expire` at its deadline.
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
    options: { clock: Clock; timeoutMs: number; banner: boolean },
    done: (result: AttemptResult) => void,
  ) {
    this.endpoint = endpoint;
    this.#clock = options.clock;
    this.#startedAt = options.clock.monotonic();
    this.deadline = this.#startedAt + options.timeoutMs;
    this.#banner = options.banner ? new Banner() : null;
    this.#done = done;
    const { ip, family, port } = endpoint;
    this.#socket = connect({ host: ip, port, family, autoSelectFamily: false });
    // Stays until the socket is collected: a late error must not end the process.
    this.#socket.on('error', (error: NodeJS.ErrnoException) => this.#failed(error));
    this.#socket.once('connect', () => this.#connected());
  }

  /** The deadline passed: no answer means silence, and the bytes read so far are the banner. */
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
    if (this.#isSelfConnected()) {
      this.#end({ outcome: { type: 'answer', state: 'closed', reason: 'self-connect' }, rtt_ms: this.#rttMs });
    } else if (this.#banner === null) {
      this.#open('connected');
    } else {
      this.#listen(this.#banner);
    }
  }

  /** Detects a self-connection: without a listener, the system may pick the target port as the local one. */
  #isSelfConnected(): boolean {
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

  /** Resets the connection instead of closing it, so that nothing remains and the local port is free at once. */
  #release(): void {
    if (this.#rttMs !== null) this.#socket.resetAndDestroy();
    else this.#socket.destroy();
  }
}

/** Creates connections with Node's sockets and event loop. */
export function nodeConnector(clock: Clock, banner: boolean): Connector {
  return {
    begin: (endpoint, timeoutMs, done) => new Attempt(endpoint, { clock, timeoutMs, banner }, done),
  };
}
