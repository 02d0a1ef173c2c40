import { Fifo } from '@heddle/base/fifo';
import { eventLoopTurn } from '@heddle/base/turn';
import type { ProbeEnvironment, TcpOptions } from '../../options.ts';
import type { Endpoint } from '../../targets/port.ts';
import { EndpointFeed } from '../endpoint-feed.ts';
import type { PortReport } from '../port-report.ts';
import type { AttemptResult } from './attempt.ts';
import type { Connector, RunningAttempt } from './connector.ts';
import { AdaptiveTimeouts } from '../adaptive-timeouts.ts';
import { LocalShortage } from './local-shortage.ts';

/** Interval at which deadlines, the pace and the consumer are checked. */
const TICK_MS = 5;
/** Maximum time of polling a connector before yielding, and the interval while idle. */
const TURN_MS = 4;
const IDLE_MS = 1;
const BATCH = 512;
/** Maximum ports that wait for a retry; beyond that nothing new is started. */
const AGAIN_MAX = 8192;
/** Consecutive hosts that the pace may refuse before sending pauses until the next tick. */
const REFUSALS_MAX = 64;
/** Attempts for a port after local failures, before it is abandoned. */
const SHORTAGES_MAX = 10;

interface Probe {
  readonly endpoint: Endpoint;
  tries: number;
  shortages: number;
}

export interface ConnectScanParts {
  options: TcpOptions;
  environment: ProbeEnvironment;
  /** Ends the scan for any reason. */
  signal: AbortSignal;
  report: PortReport;
  connector: Connector;
}

/**
 * Runs a bounded number of concurrent connections. Memory is bounded by two batches of 512 endpoints read ahead, 8,192
 * that wait for a retry, and the open connections.
 */
export class ConnectScan {
  readonly #options: TcpOptions;
  readonly #environment: ProbeEnvironment;
  readonly #signal: AbortSignal;
  readonly #report: PortReport;
  readonly #connector: Connector;
  readonly #feed: EndpointFeed;
  readonly #timeouts: AdaptiveTimeouts<string>;
  readonly #shortage: LocalShortage;
  readonly #running = new Set<RunningAttempt>();
  /** Endpoints that the pace refused, and those that did not answer. */
  readonly #deferred = new Fifo<Probe>();
  readonly #again = new Fifo<Probe>();
  #failure: { reason: unknown } | undefined;
  #sentToResponsive = 0;
  #answered = 0;

  constructor({ options, environment, signal, report, connector }: ConnectScanParts) {
    this.#options = options;
    this.#environment = environment;
    this.#signal = signal;
    this.#report = report;
    this.#connector = connector;
    this.#feed = new EndpointFeed(options.endpoints, signal, BATCH, () => this.#advance());
    this.#timeouts = new AdaptiveTimeouts(options.timeoutMs);
    this.#shortage = new LocalShortage(environment.clock, options.concurrency);
  }

  /** Resolves when every endpoint is settled or the signal aborts; no socket is open then. */
  async run(): Promise<void> {
    const { clock } = this.#environment;
    const abandon = (): void => {
      for (const attempt of this.#running) attempt.abandon();
      this.#running.clear();
    };
    this.#signal.addEventListener('abort', abandon, { once: true });
    try {
      const { poll } = this.#connector;
      this.#advance();
      while (!this.#finished && !this.#signal.aborted) {
        if (poll === undefined || !this.#pollFor(poll, TURN_MS)) {
          await clock.sleep(poll === undefined ? TICK_MS : IDLE_MS, this.#signal);
        }
        const now = clock.monotonic();
        // After a stall of the process, unread answers come first, then expired deadlines.
        await eventLoopTurn();
        poll?.();
        this.#tick(now);
      }
      if (this.#failure !== undefined) throw this.#failure.reason;
      this.#report.progress(clock.monotonic(), true);
    } finally {
      this.#signal.removeEventListener('abort', abandon);
      abandon();
      this.#connector.close?.();
    }
  }

  /** Polls and starts connections while answers arrive, at most for `ms`; returns whether there were any. */
  #pollFor(poll: () => boolean, ms: number): boolean {
    const until = this.#environment.clock.monotonic() + ms;
    if (!poll()) return false;
    while (!this.#signal.aborted && poll() && this.#environment.clock.monotonic() < until);
    return true;
  }

  get #finished(): boolean {
    if (this.#failure !== undefined) return true;
    return this.#feed.ended && this.#running.size + this.#deferred.length + this.#again.length === 0;
  }

  #tick(now: number): void {
    if (this.#signal.aborted) return;
    for (const attempt of this.#running) if (attempt.deadline <= now) attempt.expire();
    if (this.#answered > 0) this.#environment.pace.observe(this.#sentToResponsive, this.#answered);
    this.#sentToResponsive = 0;
    this.#answered = 0;
    this.#report.progress(now);
    this.#advance();
  }

  /** Starts connections up to the limit. Also called whenever one ends. */
  #advance(): void {
    if (this.#signal.aborted || this.#failure !== undefined) return;
    const { pace } = this.#environment;
    let refusals = 0;
    try {
      while (this.#running.size < this.#shortage.concurrency && !this.#report.full) {
        if (pace.available(1) === 0) return;
        const probe = this.#next();
        if (probe === undefined) return;
        if (pace.take(probe.endpoint.ip) === 0) this.#begin(probe);
        else {
          this.#deferred.push(probe);
          if (++refusals >= REFUSALS_MAX) return;
        }
      }
    } catch (reason) {
      this.#failure = { reason };
    }
  }

  /** Prefers new ports, so that some time passes before a retry, unless too many retries wait. */
  #next(): Probe | undefined {
    if (this.#again.length >= AGAIN_MAX) return this.#again.shift();
    if (this.#deferred.length >= BATCH) return this.#deferred.shift();
    const endpoint = this.#feed.take();
    if (endpoint !== undefined) return { endpoint, tries: 0, shortages: 0 };
    return this.#deferred.shift() ?? this.#again.shift();
  }

  #begin(probe: Probe): void {
    const { endpoint } = probe;
    const timeoutMs = this.#timeouts.timeoutMs(endpoint.ip, probe.tries);
    const attempt: RunningAttempt = this.#connector.begin(endpoint, timeoutMs, (result) => {
      this.#running.delete(attempt);
      this.#ended(probe, result);
      this.#advance();
    });
    this.#running.add(attempt);
    this.#report.sent(1);
  }

  #ended(probe: Probe, result: AttemptResult): void {
    const { outcome, rtt_ms, banner } = result;
    if (outcome.type === 'shortage') {
      this.#short(probe, outcome.notice);
      return;
    }
    this.#shortage.passed();
    probe.tries += 1;
    if (outcome.type === 'answer') {
      if (rtt_ms !== null) this.#timeouts.observe(probe.endpoint.ip, rtt_ms);
      // Only ports that answered reveal loss, by the connections they needed; silence need not be loss.
      this.#sentToResponsive += probe.tries;
      this.#answered += 1;
      const { state, reason } = outcome;
      this.#settle(probe, { state, reason, rtt_ms, ...(banner === undefined ? {} : { banner }) });
      return;
    }
    if (outcome.notice !== undefined) this.#report.notice(outcome.reason, outcome.notice);
    if (probe.tries <= this.#options.retries) this.#again.push(probe);
    else this.#settle(probe, { state: 'filtered', reason: outcome.reason, rtt_ms });
  }

  #settle(probe: Probe, verdict: Parameters<PortReport['settle']>[2]): void {
    this.#report.settle(probe.endpoint, 'connect', verdict);
  }

  /**
   * Handles a local shortage: the port was not probed, so this is no attempt; but a persistent shortage must not stall
   * the scan.
   */
  #short(probe: Probe, notice: string): void {
    probe.shortages += 1;
    this.#shortage.met(this.#running.size);
    this.#report.notice(notice, `connections reduced: ${notice}`);
    if (probe.shortages < SHORTAGES_MAX) {
      this.#again.push(probe);
      return;
    }
    this.#report.notice('not-probed', `some ports could not be probed, and count as filtered: ${notice}`);
    this.#settle(probe, { state: 'filtered', reason: 'not-probed', rtt_ms: null });
  }
}
