import type { ProbeEnvironment } from '../options.ts';
import type { PortMethod, PortRecord, PortState } from '../records.ts';
import type { Endpoint } from '../targets/port.ts';
import type { RecordQueue } from './record-queue.ts';

/** The state of one port, and its evidence. */
export interface PortVerdict {
  state: PortState;
  reason: string;
  /** Milliseconds; null without an answer. */
  rtt_ms: number | null;
  banner?: string;
}

const PROGRESS_EVERY_MS = 250;

/** Receives scan results: selects the requested states, counts, and reports progress. */
export class PortReport {
  readonly #environment: ProbeEnvironment;
  readonly #queue: RecordQueue<PortRecord>;
  readonly #states: ReadonlySet<PortState>;
  readonly #total: number;
  readonly #noticed = new Set<string>();
  #done = 0;
  #sent = 0;
  #found = 0;
  #progressAt: number;

  constructor(
    environment: ProbeEnvironment,
    queue: RecordQueue<PortRecord>,
    wanted: { states: readonly PortState[]; total: number },
  ) {
    this.#environment = environment;
    this.#queue = queue;
    this.#states = new Set(wanted.states);
    this.#total = wanted.total;
    this.#progressAt = environment.clock.monotonic() + PROGRESS_EVERY_MS;
  }

  /** Whether the consumer is behind, so that sending must pause. */
  get full(): boolean {
    return this.#queue.full;
  }

  /** Counts packets or connections. */
  sent(count: number): void {
    this.#sent += count;
  }

  /** Reports the result of a port: exactly once for each endpoint. */
  settle(endpoint: Endpoint, method: PortMethod, verdict: PortVerdict): void {
    this.#done += 1;
    if (verdict.state === 'open') this.#found += 1;
    if (!this.#states.has(verdict.state)) return;
    const { state, reason, rtt_ms, banner } = verdict;
    this.#queue.push({
      type: 'port',
      host: endpoint.host,
      ip: endpoint.ip,
      port: endpoint.port,
      protocol: 'tcp',
      state,
      reason,
      method,
      rtt_ms: rtt_ms === null ? null : Math.round(rtt_ms * 1000) / 1000,
      ...(banner === undefined ? {} : { banner }),
      timestamp: new Date(this.#environment.clock.now()).toISOString(),
    });
  }

  /** Reports a notice once, however often it occurs. `subject` identifies it. */
  notice(subject: string, text: string): void {
    if (this.#noticed.has(subject)) return;
    this.#noticed.add(subject);
    this.#environment.onNotice?.(text);
  }

  /** Reports progress if it is due. */
  progress(now: number, last = false): void {
    if (!last && now < this.#progressAt) return;
    this.#progressAt = now + PROGRESS_EVERY_MS;
    this.#environment.onProgress?.({ done: this.#done, total: this.#total, sent: this.#sent, found: this.#found });
  }
}
