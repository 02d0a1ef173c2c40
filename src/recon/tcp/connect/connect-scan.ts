import { eventLoopTurn } from '../../../runtime/turn.ts';
import type { ProbeEnvironment, TcpOptions } from '../../options.ts';
import type { Endpoint } from '../../targets/port.ts';
import { EndpointFeed } from '../endpoint-feed.ts';
import { Fifo } from '../fifo.ts';
import type { PortReport } from '../port-report.ts';
import type { AttemptResult } from './attempt.ts';
import type { Connector, RunningAttempt } from './connector.ts';
import { AdaptiveTimeouts } from '../adaptive-timeouts.ts';
import { LocalShortage } from './local-shortage.ts';

/** Deadlines, waits for the pace and the consumer are looked at this often. */
const TICK_MS = 5;
/** How long a connector that must be asked is asked before the rest of the process has its turn, and how often if idle. */
const TURN_MS = 4;
const IDLE_MS = 1;
const BATCH = 512;
/** Ports that wait for another try; beyond that nothing new is begun. */
const AGAIN_MAX = 8192;
/** Hosts in a row that the pace may refuse before it is left alone until the next tick. */
const REFUSALS_MAX = 64;
/** How often a port is begun again because this machine could not, before it is given up. */
const SHORTAGES_MAX = 10;

interface Probe {
  readonly endpoint: Endpoint;
  tries: number;
  shortages: number;
}

export interface ConnectScanParts {
  options: TcpOptions;
  environment: ProbeEnvironment;
  /** Ends the scan, for whatever reason. */
  signal: AbortSignal;
  report: PortReport;
  connector: Connector;
}

/**
 * Whole connections, so many at once. Bound of memory: two batches of 512 endpoints that were read ahead, 8,192 that wait
 * for another try, and those that are connecting.
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
  /** Those that the pace refused, and those that did not answer. */
  readonly #deferred = new Fifo<Probe>();
  readonly #again = new Fifo<Probe>();
  #failure: { reason: unknown } | undefined;
  #sentToAlive = 0;
  #answered = 0;

  constructor({ options, environment, signal, report, connector }: ConnectScanParts) {
    this.#options = options;
    this.#environment = environment;
    this.#signal = signal;
    this.#report = report;
    this.#connector = connector;
    this.#feed = new EndpointFeed(options.endpoints, signal, BATCH, () => this.#advance());
    this.#timeouts = new AdaptiveTimeouts(options.timeout_ms);
    this.#shortage = new LocalShortage(environment.clock, options.concurrency);
  }

  /** Resolves when every endpoint is settled, or when the signal has aborted; no socket is open then. */
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
        // Where the process stood still, answers wait to be read: they come first, then what is late by then.
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

  /** Polls and begins as long as there are answers, but not longer than `ms`; returns whether there were any. */
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
    if (this.#answered > 0) this.#environment.pace.observe(this.#sentToAlive, this.#answered);
    this.#sentToAlive = 0;
    this.#answered = 0;
    this.#report.progress(now);
    this.#advance();
  }

  /** Begins as many connections as there is room for. Called whenever one has ended, too. */
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

  /** New ports first, so that some time passes before another try; but what waits for one has its bound. */
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
      // Each port that answered tells how many connections it took: that is loss, and silence need not be.
      this.#sentToAlive += probe.tries;
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

  /** It was not probed, so it does not count as a try; but a shortage that does not pass must not hold up the scan. */
  #short(probe: Probe, notice: string): void {
    probe.shortages += 1;
    this.#shortage.met(this.#running.size);
    this.#report.notice(notice, `fewer connections at once, later: ${notice}`);
    if (probe.shortages < SHORTAGES_MAX) {
      this.#again.push(probe);
      return;
    }
    this.#report.notice('not-probed', `some ports could not be probed, and count as filtered: ${notice}`);
    this.#settle(probe, { state: 'filtered', reason: 'not-probed', rtt_ms: null });
  }
}
