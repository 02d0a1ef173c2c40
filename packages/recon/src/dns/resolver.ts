import { isIP } from 'node:net';

import { HeddleError } from '@heddle/base/errors';
import { canonicalAddress } from './names.ts';
import { QueryWindow } from './query-window.ts';

const PORT_DNS = 53;
/** Minimum timeout: a slightly late answer must not cost another query. */
const TIMEOUT_MIN_MS = 150;
/** Queries without an answer, since the last one, after which a resolver rests. */
const SILENT_AFTER = 16;
const REST_MS = 1000;
const REST_MAX_MS = 30_000;
/** Concurrent queries to a silent resolver, until it answers. */
const TRIAL_WINDOW = 2;
const SMOOTHING = 1 / 32;

export interface ResolverAddress {
  readonly ip: string;
  readonly port: number;
  readonly family: 4 | 6;
}

/** Parses `ip`, `ip:port`, `[ip]` or `[ip]:port`. @throws HeddleError VALIDATION_FAILED that names the string */
export function parseResolver(text: string): ResolverAddress {
  const match = /^(?:\[([^\]]+)\]|([^:\s]+)|([^[\]\s]*:[^[\]\s]*:[^[\]\s]*))(?::(\d{1,5}))?$/.exec(text.trim());
  const ip = match?.[1] ?? match?.[2] ?? match?.[3] ?? '';
  const port = match?.[4] === undefined ? PORT_DNS : Number(match[4]);
  const family = isIP(ip);
  if (family === 0 || port < 1 || port > 65_535) {
    throw new HeddleError('VALIDATION_FAILED', `'${text}' is not a resolver`, {
      details: [
        `resolvers: '${text}' must be an address with or without a port: 192.0.2.1, 192.0.2.1:5353, [2001:db8::1]:53`,
      ],
    });
  }
  return { ip: canonicalAddress(ip, family as 4 | 6), port, family: family as 4 | 6 };
}

/** Statistics of one resolver: latency, loss, and the number of concurrent queries it sustains. */
export class Resolver {
  readonly address: ResolverAddress;
  /** `ip:port`, as used in records. */
  readonly text: string;
  readonly #timeoutMaxMs: number;

  edns = true;
  /** Whether it ever answered a query with EDNS: a FORMERR then has other causes. */
  ednsWorked = false;
  /** Whether the system refused to send to it. */
  refused = false;
  inFlight = 0;
  answered = 0;
  /** Clock milliseconds until which other resolvers are preferred. */
  restsUntil = 0;
  /** Clock milliseconds until which the pace allows it no packet. */
  pacedUntil = 0;
  /** Smoothed share of queries without a usable answer. */
  loss = 0;

  readonly #window: QueryWindow;
  #smoothedMs = 0;
  #deviationMs = 0;
  #silent = 0;
  #isOnProbation = false;
  #restMs = REST_MS;
  #answeredAt = -1;

  constructor(address: ResolverAddress, timeoutMaxMs: number, windowMax: number) {
    this.address = address;
    this.text = address.family === 6 ? `[${address.ip}]:${address.port}` : `${address.ip}:${address.port}`;
    this.#window = new QueryWindow(windowMax);
    this.#timeoutMaxMs = timeoutMaxMs;
  }

  /** Concurrent queries. */
  get window(): number {
    return this.#window.size;
  }

  /** Whether it has capacity for another query. */
  get hasCapacity(): boolean {
    return this.inFlight < (this.#isOnProbation ? TRIAL_WINDOW : this.window);
  }

  /** Records that a query waits because the window is full. */
  onFull(): void {
    this.#window.limited = true;
  }

  get alive(): boolean {
    return this.answered > 0;
  }

  /** Returns the timeout of a query (RFC 6298); doubled for each earlier attempt. */
  timeoutMs(attemptsBefore: number): number {
    if (!this.alive) return this.#timeoutMaxMs;
    const onceMs = Math.max(this.#smoothedMs + 4 * this.#deviationMs, TIMEOUT_MIN_MS);
    return Math.min(onceMs * 2 ** attemptsBefore, this.#timeoutMaxMs);
  }

  /** Lower is better: short queue, fast answers, little loss. */
  get cost(): number {
    const usable = 1 - this.loss;
    return ((this.inFlight + 1) * (this.#smoothedMs + 1)) / (usable * usable * usable * usable + 1e-6);
  }

  /** @param rttMs null if several queries may have been answered */
  onAnswer(rttMs: number | null, nowMs: number): void {
    if (rttMs !== null) this.#sample(rttMs);
    this.answered += 1;
    this.#answeredAt = nowMs;
    this.#silent = 0;
    this.#isOnProbation = false;
    this.#restMs = REST_MS;
    this.restsUntil = 0;
    this.loss -= this.loss * SMOOTHING;
    this.#window.onAnswer(nowMs, this.timeoutMs(0));
  }

  /** @param sentAtMs queries sent before the last answer do not count as silence */
  onTimeout(nowMs: number, sentAtMs: number): void {
    this.onFailure();
    if (sentAtMs >= this.#answeredAt && (++this.#silent >= SILENT_AFTER || this.#isOnProbation)) {
      this.#silent = 0;
      this.#isOnProbation = true;
      this.restsUntil = nowMs + this.#restMs;
      this.#restMs = Math.min(this.#restMs * 2, REST_MAX_MS);
    }
    this.#window.onLoss(nowMs, this.timeoutMs(0));
  }

  /** Records an answer without usable content. */
  onFailure(): void {
    this.loss += (1 - this.loss) * SMOOTHING;
  }

  #sample(rttMs: number): void {
    if (!this.alive) {
      this.#smoothedMs = rttMs;
      this.#deviationMs = rttMs / 2;
      return;
    }
    this.#deviationMs += (Math.abs(rttMs - this.#smoothedMs) - this.#deviationMs) / 4;
    this.#smoothedMs += (rttMs - this.#smoothedMs) / 8;
  }
}
