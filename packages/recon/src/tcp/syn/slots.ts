import type { Endpoint } from '../../targets/port.ts';
import { addressWords } from '../address-words.ts';

const NONE = -1;

/** The list that contains a slot. */
const FREE = 0;
/** Its packet waits for the pace. */
export const READY = 1;
/** Its packet was sent and its answer is pending: this and higher numbers, one list per timeout. */
export const WAITING = 2;

/** Slots in order of arrival, linked through `Slots`. */
interface SlotList {
  head: number;
  tail: number;
  length: number;
}

/**
 * State of the probes in progress, in arrays of numbers: 32 bytes each, and 8 per attempt, besides the endpoint
 * itself. A slot is freed as soon as its port is settled.
 */
export class Slots {
  readonly capacity: number;
  readonly endpoints: (Endpoint | undefined)[];
  /** Four words of the address for each slot. */
  readonly words: Uint32Array;
  readonly ports: Uint16Array;
  /** Packets that were sent. */
  readonly tries: Uint8Array;
  /** Send times on the monotonic clock, `triesMax` per slot. */
  readonly #sentAt: Float64Array;
  readonly #triesMax: number;
  readonly #places: Uint8Array;
  readonly #next: Int32Array;
  readonly #previous: Int32Array;
  /** By list; free slots have none. */
  readonly #lists: readonly SlotList[];
  /** Free slots as a stack; those above `#fresh` were never used. */
  readonly #freed: Int32Array;
  #freedCount = 0;
  #fresh = 0;
  /** The address of the last endpoint, which is often that of the next one. */
  #lastIp = '';
  readonly #lastWords = new Uint32Array(4);

  /**
   * @param triesMax maximum packets per slot
   * @param waits number of lists of waiting slots
   */
  constructor(capacity: number, triesMax: number, waits: number) {
    this.capacity = capacity;
    this.#triesMax = triesMax;
    this.#lists = Array.from({ length: WAITING + waits }, () => ({ head: NONE, tail: NONE, length: 0 }));
    this.endpoints = [];
    this.words = new Uint32Array(untouched(16 * capacity));
    this.ports = new Uint16Array(untouched(2 * capacity));
    this.tries = new Uint8Array(untouched(capacity));
    this.#sentAt = new Float64Array(untouched(8 * triesMax * capacity));
    this.#places = new Uint8Array(untouched(capacity));
    this.#next = new Int32Array(untouched(4 * capacity));
    this.#previous = new Int32Array(untouched(4 * capacity));
    this.#freed = new Int32Array(untouched(4 * capacity));
  }

  get used(): number {
    return this.#fresh - this.#freedCount;
  }

  get full(): boolean {
    return this.used === this.capacity;
  }

  /** Takes a slot, not yet in a list. Requires that not all are taken. */
  take(endpoint: Endpoint): number {
    const slot = this.#freedCount > 0 ? this.#freed[--this.#freedCount]! : this.#fresh++;
    this.endpoints[slot] = endpoint;
    const { ip } = endpoint;
    if (ip !== this.#lastIp) {
      addressWords(ip, endpoint.family, this.#lastWords, 0);
      this.#lastIp = ip;
    }
    for (let word = 0; word < 4; word++) this.words[4 * slot + word] = this.#lastWords[word]!;
    this.#places[slot] = FREE;
    this.ports[slot] = endpoint.port;
    this.tries[slot] = 0;
    return slot;
  }

  /** Frees a slot and removes it from its list. */
  free(slot: number): void {
    this.#unlink(slot);
    this.endpoints[slot] = undefined;
    this.#freed[this.#freedCount++] = slot;
  }

  /** Returns whether a slot holds exactly this endpoint, unsettled. */
  holds(slot: number, word0: number, word1: number, word2: number, word3: number, port: number): boolean {
    if (slot >= this.#fresh || this.#places[slot] === FREE || this.ports[slot] !== port) return false;
    const { words } = this;
    const at = 4 * slot;
    return words[at] === word0 && words[at + 1] === word1 && words[at + 2] === word2 && words[at + 3] === word3;
  }

  /** Counts a packet sent now. */
  addTry(slot: number, nowMs: number): void {
    this.#sentAt[this.#triesMax * slot + this.tries[slot]!] = nowMs;
    this.tries[slot]! += 1;
  }

  /** @param attempt number of the attempt, from 0 */
  sentAt(slot: number, attempt: number): number {
    return this.#sentAt[this.#triesMax * slot + attempt]!;
  }

  /** Returns the first slot of a list, or -1. */
  first(place: number): number {
    return this.#lists[place]!.head;
  }

  lengthOf(place: number): number {
    return this.#lists[place]!.length;
  }

  /** Moves a slot to the end of a list. */
  append(slot: number, place: number): void {
    this.#unlink(slot);
    const list = this.#lists[place]!;
    this.#places[slot] = place;
    this.#previous[slot] = list.tail;
    this.#next[slot] = NONE;
    if (list.tail === NONE) list.head = slot;
    else this.#next[list.tail] = slot;
    list.tail = slot;
    list.length += 1;
  }

  #unlink(slot: number): void {
    const place = this.#places[slot]!;
    if (place === FREE) return;
    const list = this.#lists[place]!;
    const next = this.#next[slot]!;
    const previous = this.#previous[slot]!;
    if (previous === NONE) list.head = next;
    else this.#next[previous] = next;
    if (next === NONE) list.tail = previous;
    else this.#previous[next] = previous;
    list.length -= 1;
    this.#places[slot] = FREE;
  }
}

/** Returns memory that is not cleared: the system provides only what is written to, and few scans use all slots. */
function untouched(bytes: number): ArrayBuffer {
  return Buffer.allocUnsafeSlow(bytes).buffer;
}
