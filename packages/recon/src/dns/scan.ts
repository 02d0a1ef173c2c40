import type { DnsOptions, ProbeEnvironment } from '../options.ts';
import type { DnsRecord } from '../records.ts';
import { Exchange } from './exchange.ts';
import { NameSource } from './name-source.ts';
import { Questions } from './questions.ts';
import { Refusals } from './refusals.ts';
import type { Outcome } from './slots.ts';
import { WildcardCheck } from './wildcards.ts';

/**
 * Maximum records waiting for the consumer; beyond it no further name is taken. Including the questions in flight,
 * which may still be answered, and the consumer's batch, at most `2 * RECORDS_WAITING_MAX + inFlight` are kept.
 */
export const RECORDS_WAITING_MAX = 4096;

const PROGRESS_EVERY_MS = 250;

/**
 * Queries every name and type, and yields one record for each as it is answered: unordered, each exactly once. Names
 * out of scope and invalid names are reported as notices.
 *
 * @throws HeddleError VALIDATION_FAILED for invalid resolvers; the signal's reason when it aborts; any error of the
 * list of names
 */
export async function* scanDns(options: DnsOptions, environment: ProbeEnvironment): AsyncGenerator<DnsRecord, void> {
  environment.signal.throwIfAborted();
  const scan = new DnsScan(options, environment);
  try {
    await scan.start();
    for (let batch = await scan.next(); batch !== null; batch = await scan.next()) {
      for (const record of batch) yield record;
    }
  } finally {
    scan.close();
  }
}

class DnsScan {
  readonly #environment: ProbeEnvironment;
  readonly #total: number | null;
  readonly #exchange: Exchange;
  readonly #questions: Questions;
  readonly #source: NameSource;
  readonly #refusals: Refusals;
  readonly #wildcards: WildcardCheck | null;
  #ready: DnsRecord[] = [];
  /** Records that wait for the wildcard check of their zone. */
  #held = 0;
  #settled = 0;
  #found = 0;
  #failure: { error: unknown } | null = null;
  #wakeReader: (() => void) | null = null;
  #cancelProgress: (() => void) | null = null;
  #stamp = '';
  #stampMs = 0;

  constructor(options: DnsOptions, environment: ProbeEnvironment) {
    this.#environment = environment;
    this.#total = options.total;
    this.#exchange = new Exchange(options, environment, () => this.#feed());
    this.#refusals = new Refusals(environment.onNotice);
    this.#questions = new Questions(options, this.#refusals);
    this.#source = new NameSource(
      options.names,
      () => this.#more(),
      (error) => this.#fail(error),
    );
    this.#wildcards = options.wildcards ? new WildcardCheck(this.#exchange, options.scope, environment) : null;
  }

  async start(): Promise<void> {
    this.#environment.signal.addEventListener('abort', this.#onAbort);
    if (this.#environment.onProgress !== undefined) this.#reportLater();
    await this.#exchange.start();
  }

  /** Returns the records since the last call, at least one; null at the end. */
  async next(): Promise<DnsRecord[] | null> {
    for (;;) {
      if (this.#failure !== null) throw this.#failure.error;
      if (this.#ready.length > 0) {
        const batch = this.#ready;
        this.#ready = [];
        this.#exchange.wake();
        return batch;
      }
      if (this.#ended) {
        this.#finish();
        return null;
      }
      await new Promise<void>((resolve) => (this.#wakeReader = resolve));
    }
  }

  close(): void {
    this.#environment.signal.removeEventListener('abort', this.#onAbort);
    this.#cancelProgress?.();
    this.#exchange.close();
    this.#source.close();
    this.#wakeConsumer();
  }

  get #ended(): boolean {
    return this.#source.ended && this.#questions.empty && this.#exchange.open === 0 && this.#held === 0;
  }

  readonly #onAbort = (): void => this.#fail(this.#environment.signal.reason);

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.close();
  }

  #more(): void {
    this.#exchange.wake();
    if (this.#ended) this.#wakeConsumer();
  }

  /** Asks the next question; returns false if there is none now, or the consumer is behind. */
  #feed(): boolean {
    if (this.#wildcards?.feed() === true) return true;
    if (this.#questions.empty) {
      if (this.#ready.length + this.#held >= RECORDS_WAITING_MAX) return false;
      const name = this.#source.take();
      if (name === null) {
        if (this.#ended) this.#wakeConsumer();
        return false;
      }
      this.#questions.add(name);
    }
    this.#questions.askNext(this.#exchange, this.#onOutcome);
    return true;
  }

  readonly #onOutcome = (outcome: Outcome): void => {
    const record = this.#record(outcome);
    this.#settled += 1;
    if (record.ttl !== null) this.#found += 1;
    // An outcome without a resolver is not the answer of a zone.
    if (this.#wildcards === null || record.ttl === null || record.resolver === null || record.query_type === 'PTR') {
      this.#deliver(record);
      return;
    }
    this.#held += 1;
    this.#wildcards.check(record, () => {
      this.#held -= 1;
      this.#deliver(record);
    });
  };

  #record({ name, type, status, resolver, answers, ttl, tcp, rtt_ms }: Outcome): DnsRecord {
    const record: DnsRecord = {
      type: 'dns',
      host: this.#questions.hostOf(name),
      resolver,
      query_type: type,
      status_code: status,
      ...answers,
      ttl,
      rtt_ms: rtt_ms === null ? null : Math.round(rtt_ms * 1000) / 1000,
      timestamp: this.#timestamp(),
    };
    if (tcp) record.tcp = true;
    return record;
  }

  /** Caches the timestamp: most records of one turn share the same millisecond. */
  #timestamp(): string {
    const nowMs = this.#environment.clock.now();
    if (nowMs !== this.#stampMs) {
      this.#stampMs = nowMs;
      this.#stamp = new Date(nowMs).toISOString();
    }
    return this.#stamp;
  }

  #deliver(record: DnsRecord): void {
    this.#ready.push(record);
    this.#wakeConsumer();
  }

  #wakeConsumer(): void {
    this.#wakeReader?.();
    this.#wakeReader = null;
  }

  #reportLater(): void {
    this.#cancelProgress = this.#environment.clock.after(PROGRESS_EVERY_MS, () => {
      this.#report();
      this.#reportLater();
    });
  }

  #report(): void {
    const { names, asked } = this.#questions;
    const done = this.#refusals.count + (asked === 0 ? 0 : Math.floor((names * this.#settled) / asked));
    const total = Math.max(this.#total ?? 0, names + this.#refusals.count);
    this.#environment.onProgress?.({ done, total, sent: this.#exchange.sent, found: this.#found });
  }

  #finish(): void {
    if (this.#environment.onProgress !== undefined) this.#report();
    this.#refusals.summarize();
    const { late, foreign, mismatched, garbage } = this.#exchange.strays;
    const counts = { late, 'from other sources': foreign, 'for other questions': mismatched, unreadable: garbage };
    const reported = Object.entries(counts).filter(([, count]) => count > 0);
    if (reported.length === 0) return;
    const parts = reported.map(([what, count]) => `${count} ${what}`);
    this.#environment.onNotice?.(`ignored packets: ${parts.join(', ')}`);
  }
}
