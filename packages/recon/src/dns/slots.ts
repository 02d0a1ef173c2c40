import type { DnsType } from '../records.ts';
import type { Answers } from './decode.ts';
import { QUERY_BYTES_MAX, setEdns, writeId, writeQuery } from './encode.ts';
import { TYPE_CODES } from './codes.ts';

/** Maximum attempts per question, whatever the options say. */
export const ATTEMPTS_MAX = 16;

/** The outcome of a question. */
export interface Outcome {
  name: string;
  type: DnsType;
  /** Name of a response code; TIMEOUT or MALFORMED without a usable answer. */
  status: string;
  /** `ip:port` of the server that answered; null if none did. */
  resolver: string | null;
  answers: Answers;
  ttl: number | null;
  tcp: boolean;
  rtt_ms: number | null;
}

export type Settle = (outcome: Outcome) => void;

const FREE = 0;
const WAITING = 1;
const SENT = 2;
/** Settled while queued for sending: freed when it is dequeued. */
const SETTLED_IN_LINE = 3;

const NO_SETTLE: Settle = () => undefined;

/**
 * A fixed number of questions in flight, in flat arrays: asking allocates nothing. The bytes of each query are kept
 * for retransmission.
 */
export class Slots {
  readonly capacity: number;
  readonly #free: Int32Array;
  #freeCount: number;
  readonly #state: Uint8Array;
  /** Slots queued for sending, oldest first. */
  readonly #line: Int32Array;
  #lineHead = 0;
  #lineCount = 0;

  readonly bytes: Buffer;
  readonly questionEnd: Uint16Array;
  readonly messageEnd: Uint16Array;
  readonly name: string[];
  readonly type: DnsType[];
  readonly settle: Settle[];
  readonly id: Uint16Array;
  readonly attempts: Uint8Array;
  /** Resolver and time of each attempt, `ATTEMPTS_MAX` per slot. */
  readonly asked: Uint16Array;
  readonly sentAt: Float64Array;
  /** Status of the last unusable answer; null if there was none. */
  readonly failure: (string | null)[];
  /** Index of the server that sent it. */
  readonly failedBy: Uint16Array;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.#free = Int32Array.from({ length: capacity }, (_, index) => capacity - 1 - index);
    this.#freeCount = capacity;
    this.#state = new Uint8Array(capacity);
    this.#line = new Int32Array(capacity);
    this.bytes = Buffer.alloc(capacity * QUERY_BYTES_MAX);
    this.questionEnd = new Uint16Array(capacity);
    this.messageEnd = new Uint16Array(capacity);
    this.name = Array<string>(capacity).fill('');
    this.type = Array<DnsType>(capacity).fill('A');
    this.settle = Array<Settle>(capacity).fill(NO_SETTLE);
    this.id = new Uint16Array(capacity);
    this.attempts = new Uint8Array(capacity);
    this.asked = new Uint16Array(capacity * ATTEMPTS_MAX);
    this.sentAt = new Float64Array(capacity * ATTEMPTS_MAX);
    this.failure = Array<string | null>(capacity).fill(null);
    this.failedBy = new Uint16Array(capacity);
  }

  get free(): number {
    return this.#freeCount;
  }

  /** Length of the send queue, including slots that settled meanwhile. */
  get waiting(): number {
    return this.#lineCount;
  }

  /** Takes a free slot for a question and writes its bytes; the id is set later. Requires a free slot. */
  take(name: string, type: DnsType, settle: Settle): number {
    if (this.#freeCount === 0) throw new Error('dns slots: no free slot');
    const slot = this.#free[--this.#freeCount]!;
    const base = slot * QUERY_BYTES_MAX;
    const end = writeQuery(this.bytes, base, name, TYPE_CODES[type]);
    this.questionEnd[slot] = end - base;
    this.setEdns(slot, true);
    this.name[slot] = name;
    this.type[slot] = type;
    this.settle[slot] = settle;
    this.attempts[slot] = 0;
    this.failure[slot] = null;
    return slot;
  }

  setId(slot: number, id: number): void {
    this.id[slot] = id;
    writeId(this.bytes, slot * QUERY_BYTES_MAX, id);
  }

  setEdns(slot: number, edns: boolean): void {
    const base = slot * QUERY_BYTES_MAX;
    this.messageEnd[slot] = setEdns(this.bytes, base, base + this.questionEnd[slot]!, edns) - base;
  }

  message(slot: number): Buffer {
    const base = slot * QUERY_BYTES_MAX;
    return this.bytes.subarray(base, base + this.messageEnd[slot]!);
  }

  /** Appends a slot to the send queue. */
  enqueue(slot: number): void {
    this.#state[slot] = WAITING;
    this.#line[(this.#lineHead + this.#lineCount) % this.capacity] = slot;
    this.#lineCount += 1;
  }

  /** Returns the first queued slot without removing it; -1 if none waits. */
  peek(): number {
    while (this.#lineCount > 0) {
      const slot = this.#line[this.#lineHead]!;
      if (this.#state[slot] === WAITING) return slot;
      this.dequeue();
      this.#giveBack(slot);
    }
    return -1;
  }

  /** Removes the first queued slot. */
  dequeue(): void {
    const slot = this.#line[this.#lineHead]!;
    this.#lineHead = (this.#lineHead + 1) % this.capacity;
    this.#lineCount -= 1;
    if (this.#state[slot] === WAITING) this.#state[slot] = SENT;
  }

  /** Returns whether the slot's question is in flight and not queued for another attempt. */
  isSent(slot: number): boolean {
    return this.#state[slot] === SENT;
  }

  /** Removes a slot from the queue at any position. */
  leaveLine(slot: number): void {
    if (this.#state[slot] !== WAITING) return;
    for (let index = 0; index < this.#lineCount; index++) {
      if (this.#line[(this.#lineHead + index) % this.capacity] !== slot) continue;
      for (let after = index + 1; after < this.#lineCount; after++) {
        this.#line[(this.#lineHead + after - 1) % this.capacity] =
          this.#line[(this.#lineHead + after) % this.capacity]!;
      }
      break;
    }
    this.#lineCount -= 1;
    this.#state[slot] = SENT;
  }

  /** Records an attempt at a resolver; returns its number, from 0. */
  addAttempt(slot: number, resolver: number, nowMs: number): number {
    const attempt = this.attempts[slot]!++;
    this.asked[slot * ATTEMPTS_MAX + attempt] = resolver;
    this.sentAt[slot * ATTEMPTS_MAX + attempt] = nowMs;
    return attempt;
  }

  resolverOf(slot: number, attempt: number): number {
    return this.asked[slot * ATTEMPTS_MAX + attempt]!;
  }

  /** Returns the last attempt at this resolver; -1 if there is none. */
  lastAttemptAt(slot: number, resolver: number): number {
    let attempt = this.attempts[slot]! - 1;
    while (attempt >= 0 && this.resolverOf(slot, attempt) !== resolver) attempt -= 1;
    return attempt;
  }

  /**
   * Returns the milliseconds since an attempt was sent; null if the same resolver was queried before, so either may be
   * meant.
   */
  roundTripMs(slot: number, attempt: number, nowMs: number): number | null {
    const resolver = this.resolverOf(slot, attempt);
    for (let earlier = 0; earlier < attempt; earlier++) if (this.resolverOf(slot, earlier) === resolver) return null;
    return nowMs - this.sentAt[slot * ATTEMPTS_MAX + attempt]!;
  }

  sinceSentMs(slot: number, attempt: number, nowMs: number): number {
    return nowMs - this.sentAt[slot * ATTEMPTS_MAX + attempt]!;
  }

  release(slot: number): void {
    this.settle[slot] = NO_SETTLE;
    if (this.#state[slot] === WAITING) this.#state[slot] = SETTLED_IN_LINE;
    else this.#giveBack(slot);
  }

  #giveBack(slot: number): void {
    this.#state[slot] = FREE;
    this.#free[this.#freeCount++] = slot;
  }
}
