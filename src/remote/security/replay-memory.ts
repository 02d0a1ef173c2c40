import type { Random } from '../../runtime/random.ts';
import { RemoteFailure } from '../protocol/codes.ts';
import { HASH_SEED_BYTES, NonceHash, NonceTable } from './nonce-table.ts';

export interface ReplayLimits {
  /** Nonces that each client may have remembered, whatever the others do. */
  perClientMax: number;
  /** Of all clients together. While less than half of it is taken, a client may go beyond its own limit. */
  totalMax: number;
}

export const REPLAY_LIMITS: ReplayLimits = { perClientMax: 250_000, totalMax: 2_500_000 };

/** Nonces are kept by the time of their request in tables of so much time, each forgotten as a whole. */
const SPAN_MS = 10_000;
/** What a table counts for, however few nonces are in it: so the number of tables is bounded as well. */
const TABLE_NONCES = 16;

interface ClientNonces {
  count: number;
  readonly tables: Map<number, NonceTable>;
}

/** Which requests were received while they are young enough to be received again. */
export class ReplayMemory {
  readonly #limits: ReplayLimits;
  readonly #maxAgeMs: number;
  readonly #nonce: NonceHash;
  readonly #clients = new Map<string, ClientNonces>();
  /** Who has a table, by span. */
  readonly #spans = new Map<number, Set<string>>();
  #total = 0;
  #oldestSpan = Infinity;
  #horizonMs = 0;

  /** @param maxAgeMs how far a request's time may lie from now, on either side */
  constructor(limits: ReplayLimits, maxAgeMs: number, random: Random) {
    this.#limits = limits;
    this.#maxAgeMs = maxAgeMs;
    this.#nonce = new NonceHash(random.bytes(HASH_SEED_BYTES));
  }

  /** Requests signed before it cannot be told from those received already. Milliseconds since the epoch; never goes back. */
  get horizonMs(): number {
    return this.#horizonMs;
  }

  raiseHorizon(ms: number): void {
    this.#horizonMs = Math.max(this.#horizonMs, ms);
  }

  /** What all of it counts for, of `totalMax`. */
  get total(): number {
    return this.#total;
  }

  get clients(): number {
    return this.#clients.size;
  }

  /**
   * Remembers a request that is not older than `maxAgeMs`, and returns the bytes of its nonce, valid until the next call.
   *
   * @throws RemoteFailure REPLAYED, EXPIRED (older than what is remembered), QUEUE_FULL
   */
  remember(client: string, nonce: string, timestampMs: number, nowMs: number): Buffer {
    this.#forget(nowMs);
    if (timestampMs < this.#horizonMs) throw forgotten(this.#horizonMs);
    const known = this.#clients.get(client);
    const read = this.#nonce.read(nonce);
    if (known !== undefined) {
      for (const table of known.tables.values()) if (table.has(read)) throw new RemoteFailure('REPLAYED');
      this.#holdLimits(known, nowMs);
    } else this.#holdLimits(null, nowMs);
    this.#add(client, timestampMs, read);
    return read.bytes;
  }

  /** Takes back what was written down before; nothing where it is too old or there already. */
  restore(client: string, bytes: Buffer, at: number, timestampMs: number, nowMs: number): void {
    if (spanEndMs(spanOf(timestampMs)) + this.#maxAgeMs <= nowMs) {
      this.raiseHorizon(spanEndMs(spanOf(timestampMs)));
      return;
    }
    const nonce = this.#nonce.copy(bytes, at);
    for (const table of this.#clients.get(client)?.tables.values() ?? []) if (table.has(nonce)) return;
    this.#add(client, timestampMs, nonce);
  }

  #add(client: string, timestampMs: number, nonce: NonceHash): void {
    const span = spanOf(timestampMs);
    let own = this.#clients.get(client);
    if (own === undefined) this.#clients.set(client, (own = { count: 0, tables: new Map() }));
    let table = own.tables.get(span);
    if (table === undefined) {
      own.tables.set(span, (table = new NonceTable()));
      this.#total += TABLE_NONCES;
      this.#spans.set(span, (this.#spans.get(span) ?? new Set()).add(client));
      this.#oldestSpan = Math.min(this.#oldestSpan, span);
    }
    table.add(nonce);
    own.count += 1;
    if (table.size > TABLE_NONCES) this.#total += 1;
  }

  #holdLimits(own: ClientNonces | null, nowMs: number): void {
    const { perClientMax, totalMax } = this.#limits;
    const full = this.#total >= totalMax;
    if (!full && (own === null || own.count < perClientMax || this.#total < totalMax / 2)) return;
    const oldest = full || own === null ? this.#oldestSpan : Math.min(...own.tables.keys());
    const waitMs = spanEndMs(oldest) + this.#maxAgeMs - nowMs;
    const whose = full ? 'all callers' : 'this caller';
    throw new RemoteFailure('QUEUE_FULL', `The memory of requests of ${whose} is full`, {
      retryAfterSecs: Math.max(1, Math.ceil(waitMs / 1000)),
    });
  }

  /** Drops spans whose requests would be refused for their age. */
  #forget(nowMs: number): void {
    while (spanEndMs(this.#oldestSpan) + this.#maxAgeMs <= nowMs) {
      const span = this.#oldestSpan;
      for (const client of this.#spans.get(span) ?? []) this.#forgetTable(client, span);
      this.#spans.delete(span);
      // The clock may be set back one day: what was forgotten must stay refused.
      this.raiseHorizon(spanEndMs(span));
      this.#oldestSpan = Math.min(...this.#spans.keys());
    }
  }

  #forgetTable(client: string, span: number): void {
    const own = this.#clients.get(client)!;
    const { size } = own.tables.get(span)!;
    own.tables.delete(span);
    own.count -= size;
    this.#total -= Math.max(TABLE_NONCES, size);
    if (own.tables.size === 0) this.#clients.delete(client);
  }
}

function spanOf(timestampMs: number): number {
  return Math.floor(timestampMs / SPAN_MS);
}

/** Where nothing is held, the oldest span is at infinity, and so is its end. */
function spanEndMs(span: number): number {
  return (span + 1) * SPAN_MS;
}

function forgotten(horizonMs: number): RemoteFailure {
  const since = new Date(horizonMs).toISOString();
  return new RemoteFailure(
    'EXPIRED',
    `Requests signed before ${since} cannot be told from repeated ones; sign it again`,
  );
}
