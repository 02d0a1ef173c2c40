import { Fifo } from '@heddle/base/fifo';
import type { ProbeEnvironment } from '../../options.ts';
import type { Endpoint } from '../../targets/port.ts';
import { Attempt } from '../connect/attempt.ts';
import type { PortReport } from '../port-report.ts';

/** Open ports that wait for a connection; beyond that sending stops until some are read. */
const WAITING_MAX = 1024;

interface OpenPort {
  endpoint: Endpoint;
  rtt_ms: number;
}

/** Connects to the open ports of a SYN scan to read their banners, and reports them. They remain open without one. */
export class BannerStage {
  readonly #environment: ProbeEnvironment;
  readonly #report: PortReport;
  readonly #limits: { timeoutMs: number; concurrency: number };
  readonly #waiting = new Fifo<OpenPort>();
  readonly #running = new Set<Attempt>();

  constructor(environment: ProbeEnvironment, report: PortReport, limits: { timeoutMs: number; concurrency: number }) {
    this.#environment = environment;
    this.#report = report;
    this.#limits = limits;
  }

  get idle(): boolean {
    return this.#waiting.length + this.#running.size === 0;
  }

  get full(): boolean {
    return this.#waiting.length >= WAITING_MAX;
  }

  add(port: OpenPort): void {
    this.#waiting.push(port);
  }

  /** Ends expired connections and starts others. */
  advance(now: number): void {
    for (const attempt of this.#running) if (attempt.deadline <= now) attempt.expire();
    while (this.#running.size < this.#limits.concurrency) {
      const port = this.#waiting.shift();
      if (port === undefined) return;
      if (this.#environment.pace.take(port.endpoint.ip) === 0) {
        this.#begin(port);
      } else {
        this.#waiting.push(port);
        return;
      }
    }
  }

  abandon(): void {
    for (const attempt of this.#running) attempt.abandon();
    this.#running.clear();
  }

  #begin({ endpoint, rtt_ms }: OpenPort): void {
    const { clock } = this.#environment;
    const { timeoutMs } = this.#limits;
    const attempt: Attempt = new Attempt(endpoint, { clock, timeoutMs, banner: true }, ({ banner }) => {
      this.#running.delete(attempt);
      const said = banner === undefined ? {} : { banner };
      this.#report.settle(endpoint, 'syn', { state: 'open', reason: 'syn-ack', rtt_ms, ...said });
    });
    this.#running.add(attempt);
    this.#report.sent(1);
  }
}
