import { isIP } from 'node:net';

import { HeddleError } from '../../domain/errors.ts';
import { canonicalAddress } from './names.ts';

const PORT_DNS = 53;
/** No wait for an answer is shorter: an answer that is only a little late must not cost another query. */
const TIMEOUT_MIN_MS = 150;
const WINDOW_INITIAL = 128;
const WINDOW_MIN = 32;
/** A window is judged over at least so many queries and so much time. */
const EPOCH_QUERIES_MIN = 128;
const EPOCH_MIN_MS = 20;
/** More than this is taken for the sign of too many queries at once. */
const LOSS_MAX = 0.05;
const WINDOW_CUT = 0.75;
const WINDOW_GROWTH = 1.5;
/** A growth of the window pays where the answers grow by this share of it. */
const GAIN_SHARE = 0.5;
const HOLD_MS = 1000;
/** After so many queries without any answer a resolver rests. */
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
 * What is known of one resolver: how long its answers take, how much it loses, and how many queries it bears at once. The
 * window grows for as long as more queries at once bring more answers a second, and shrinks when too many get lost.
 */
export class Resolver {
  readonly address: ResolverAddress;
  /** `ip:port`, as records name it. */
  readonly text: string;
  readonly windowMax: number;
  readonly #timeoutMaxMs: number;

  edns = true;
  /** Whether it ever answered a query with EDNS: then a FORMERR has other reasons. */
  ednsWorked = false;
  /** Whether the system refused to send to it. */
  refused = false;
  inFlight = 0;
  answered = 0;
  window: number;
  /** Milliseconds of the clock until which it is not asked where another one can be. */
  restsUntil = 0;
  /** Milliseconds of the clock until which the pace allows it no packet. */
  pacedUntil = 0;
  /** Smoothed share of queries that brought no usable answer. */
  loss = 0;
  /** Whether the window kept a query waiting since it was last judged. */
  limited = false;

  #smoothedMs = 0;
  #deviationMs = 0;
  #silent = 0;
  #onTrial = false;
  #restMs = REST_MS;

  #epochStart = 0;
  #epochAnswered = 0;
  #epochLost = 0;
  #rate = 0;
  #before = 0;
  #holdUntil = 0;

  constructor(address: ResolverAddress, timeoutMaxMs: number, windowMax: number) {
    this.address = address;
    this.text = address.family === 6 ? `[${address.ip}]:${address.port}` : `${address.ip}:${address.port}`;
    this.windowMax = windowMax;
    this.window = Math.min(WINDOW_INITIAL, windowMax);
    this.#timeoutMaxMs = timeoutMaxMs;
  }

  /** Whether it bears one more query now. */
  get hasRoom(): boolean {
    return this.inFlight < (this.#onTrial ? TRIAL_WINDOW : this.window);
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
    this.#silent = 0;
    this.#onTrial = false;
    this.#restMs = REST_MS;
    this.restsUntil = 0;
    this.loss -= this.loss * SMOOTHING;
    this.#epochAnswered += 1;
    this.#judge(nowMs);
  }

  onTimeout(nowMs: number): void {
    this.#epochLost += 1;
    this.onFailure();
    if (++this.#silent >= SILENT_AFTER || this.#onTrial) {
      this.#silent = 0;
      this.#onTrial = true;
      this.restsUntil = nowMs + this.#restMs;
      this.#restMs = Math.min(this.#restMs * 2, REST_MAX_MS);
    }
    this.#judge(nowMs);
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

  #judge(nowMs: number): void {
    const settled = this.#epochAnswered + this.#epochLost;
    const elapsedMs = nowMs - this.#epochStart;
    if (settled < Math.max(EPOCH_QUERIES_MIN, this.window) || elapsedMs < EPOCH_MIN_MS) return;
    const rate = this.#epochAnswered / elapsedMs;
    if (this.#epochLost / settled > LOSS_MAX) {
      this.window = Math.max(WINDOW_MIN, Math.floor(this.window * WINDOW_CUT));
      this.#hold(nowMs);
    } else if (this.limited && nowMs >= this.#holdUntil) {
      this.#grow(rate, nowMs);
    }
    this.limited = false;
    this.#epochStart = nowMs;
    this.#epochAnswered = 0;
    this.#epochLost = 0;
  }

  #grow(rate: number, nowMs: number): void {
    const grewBy = this.#before === 0 ? 0 : this.window / this.#before - 1;
    if (this.#rate > 0 && rate < this.#rate * (1 + GAIN_SHARE * grewBy)) {
      this.window = this.#before;
      this.#hold(nowMs);
      return;
    }
    this.#rate = rate;
    this.#before = this.window;
    this.window = Math.min(Math.ceil(this.window * WINDOW_GROWTH), this.windowMax);
  }

  /** The window stays as it is for a while; then whether more would bring more is found out anew. */
  #hold(nowMs: number): void {
    this.#holdUntil = nowMs + HOLD_MS;
    this.#rate = 0;
    this.#before = 0;
  }
}
