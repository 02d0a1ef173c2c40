import type { Socket } from 'node:net';
import type { Http2Session, ServerHttp2Stream } from 'node:http2';

import type { Clock } from '@heddle/base/clock';
import { RateBuckets } from '@heddle/base/rate-buckets';
import { addressOf } from '../connections.ts';
import type { Peer } from './peers.ts';

interface ResetCount {
  sinceMs: number;
  resets: number;
}

const WINDOW_MS = 1_000;

/** Resets per second on one connection, after a burst of its stream limit; beyond, HTTP/2 ends it. */
const RESETS_PER_SECOND = 16;
/** Resets on all unproven connections of an address; the debt covers ten seconds. */
const ADDRESS_RESETS = { perSecond: RESETS_PER_SECOND, burst: 128, debt: 160 };
/** Interval between admitted connections of an address in debt. */
const ADMISSION_INTERVAL_MS = 100;

/** Returns the HTTP/2 options that limit stream resets. */
export function resetOptions(burst: number): object {
  return { streamResetBurst: burst, streamResetRate: RESETS_PER_SECOND };
}

/**
 * Limits the cost of stream resets. A connection is cut at the first reset beyond the limit, because HTTP/2 checks its
 * own limit only once per read, which may contain thousands of streams, each costing a library call. Reconnecting does
 * not help: unproven connections of an address with too many resets are admitted one at a time, in order, and cut after
 * a reset or two, until the address has been quiet for some seconds.
 */
export class ResetGuard {
  readonly #burst: number;
  readonly #clock: Clock;
  readonly #counts = new WeakMap<Http2Session, ResetCount>();
  readonly #addresses = new RateBuckets(ADDRESS_RESETS);
  readonly #queues = new Map<string, AdmissionQueue>();

  constructor(burst: number, clock: Clock) {
    this.#burst = burst;
    this.#clock = clock;
  }

  /** Starts a connection, immediately or when the queue of its address admits it. */
  admit(socket: Socket, begin: () => void): void {
    const address = addressOf(socket);
    let queue = this.#queues.get(address);
    if (queue === undefined) {
      if (!this.#addresses.isOverdrawn(address, this.#clock.monotonic())) {
        begin();
        return;
      }
      queue = new AdmissionQueue(this.#clock, () => this.#queues.delete(address));
      this.#queues.set(address, queue);
    }
    queue.enter(socket, begin);
  }

  watch(stream: ServerHttp2Stream, session: Http2Session, peer: Peer | undefined): void {
    stream.once('close', () => {
      if (stream.rstCode === 0) return;
      const isTooMuch = this.#isTooMuch(session);
      if (this.#isTooMuchOfAddress(peer) || isTooMuch) session.destroy();
    });
  }

  #isTooMuch(session: Http2Session): boolean {
    const nowMs = this.#clock.monotonic();
    const before = this.#counts.get(session);
    const count = before === undefined || nowMs - before.sinceMs > WINDOW_MS ? { sinceMs: nowMs, resets: 0 } : before;
    count.resets += 1;
    this.#counts.set(session, count);
    return count.resets > this.#burst;
  }

  #isTooMuchOfAddress(peer: Peer | undefined): boolean {
    if (peer === undefined || peer.isProven) return false;
    const nowMs = this.#clock.monotonic();
    this.#addresses.charge(peer.remoteAddress, nowMs);
    return this.#addresses.isOverdrawn(peer.remoteAddress, nowMs);
  }
}

/** Connections of one address that start one after another. */
class AdmissionQueue {
  readonly #clock: Clock;
  readonly #onEmpty: () => void;
  readonly #waiting = new Map<Socket, () => void>();
  #isArmed = false;

  constructor(clock: Clock, onEmpty: () => void) {
    this.#clock = clock;
    this.#onEmpty = onEmpty;
  }

  enter(socket: Socket, begin: () => void): void {
    this.#waiting.set(socket, begin);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.#waiting.delete(socket));
    this.#arm();
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    this.#clock.after(ADMISSION_INTERVAL_MS, () => {
      this.#isArmed = false;
      const [next] = this.#waiting;
      if (next === undefined) {
        this.#onEmpty();
        return;
      }
      const [socket, begin] = next;
      this.#waiting.delete(socket);
      begin();
      this.#arm();
    });
  }
}
