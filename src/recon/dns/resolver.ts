import { isIP } from 'node:net';

import { HeddleError } from '../../domain/errors.ts';
import { canonicalAddress } from './names.ts';
import { QueryWindow } from './query-window.ts';

const PORT_DNS = 53;
/** No wait for an answer is shorter: an answer that is only a little late must not cost another query. */
const TIMEOUT_MIN_MS = 150;
/** After so many queries that left since its last answer, and brought none, a resolver rests. */
const SILENT_AFTER = 16;
const REST_MS = 1000;
const REST_MAX_MS = 30_000;
/** Queries at once to one that was silent, until it answers. */
const TRIAL_WINDOW = 2;
const SMOOTHING = 1 / 32;

export interface ResolverAddress {
  readonly ip: string;
  readonly port: number;
  readonly family: 4 | 6;
}

/** Reads `ip`, `ip:port`, `[ip]` or `[ip]:port`. @throws HeddleError VALIDATION_FAILED that names the text */
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

/**
 * What is known of one resolver: how long its answers take, how much it loses, and how many queries it bears at once.
 */
export class Resolver {
  readonly address: ResolverAddress;
  /** `ip:port`, as records name it. */
  readonly text: string;
  readonly #timeoutMaxMs: number;

  edns = true;
  /** Whether it ever answered a query with EDNS: then a FORMERR has other reasons. */
  ednsWorked = false;
  /** Whether the system refused to send to it. */
  refused = false;
  inFlight = 0;
  answered = 0;
  /** Milliseconds of the clock until which it is not asked where another one can be. */
  restsUntil = 0;
  /** Milliseconds of the clock until which the pace allows it no packet. */
  pacedUntil = 0;
  /** Smoothed share of queries that brought no usable answer. */
  loss = 0;

  readonly #window: QueryWindow;
  #smoothedMs = 0;
  #deviationMs = 0;
  #silent = 0;
  #onTrial = false;
  #restMs = REST_MS;
  #answeredAt = -1;

  constructor(address: ResolverAddress, timeoutMaxMs: number, windowMax: number) {
    this.address = address;
    this.text = address.family === 6 ? `[${address.ip}]:${address.port}` : `${address.ip}:${address.port}`;
    this.#window = new QueryWindow(windowMax);
    this.#timeoutMaxMs = timeoutMaxMs;
  }

  /** Queries at once. */
  get window(): number {
    return this.#window.size;
  }

  /** Whether it bears one more query now. */
  get hasRoom(): boolean {
    return this.inFlight < (this.#onTrial ? TRIAL_WINDOW : this.window);
  }

  /** A query waits because the window is full. */
  onFull(): void {
    this.#window.limited = true;
  }

  get alive(): boolean {
    return this.answered > 0;
  }

  /** How long to wait for an answer (RFC 6298); doubled for each attempt before. */
  timeoutMs(attemptsBefore: number): number {
    if (!this.alive) return this.#timeoutMaxMs;
    const onceMs = Math.max(this.#smoothedMs + 4 * this.#deviationMs, TIMEOUT_MIN_MS);
    return Math.min(onceMs * 2 ** attemptsBefore, this.#timeoutMaxMs);
  }

  /** Smaller is better: short lines, fast answers, little loss. */
  get cost(): number {
    const usable = 1 - this.loss;
    return ((this.inFlight + 1) * (this.#smoothedMs + 1)) / (usable * usable * usable * usable + 1e-6);
  }

  /** @param rttMs null where it cannot be told which of several queries was answered */
  onAnswer(rttMs: number | null, nowMs: number): void {
    if (rttMs !== null) this.#sample(rttMs);
    this.answered += 1;
    this.#answeredAt = nowMs;
    this.#silent = 0;
    this.#onTrial = false;
    this.#restMs = REST_MS;
    this.restsUntil = 0;
    this.loss -= this.loss * SMOOTHING;
    this.#window.onAnswer(nowMs, this.timeoutMs(0));
  }

  /** @param sentAtMs what left before the last answer came says nothing of silence since then */
  onTimeout(nowMs: number, sentAtMs: number): void {
    this.onFailure();
    if (sentAtMs >= this.#answeredAt && (++this.#silent >= SILENT_AFTER || this.#onTrial)) {
      this.#silent = 0;
      this.#onTrial = true;
      this.restsUntil = nowMs + this.#restMs;
      this.#restMs = Math.min(this.#restMs * 2, REST_MAX_MS);
    }
    this.#window.onLoss(nowMs, this.timeoutMs(0));
  }

  /** It answered, but with nothing that is of use. */
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
