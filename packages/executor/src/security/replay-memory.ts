import type { Random } from '@heddle/base/random';
import { RemoteFailure } from '../protocol/codes.ts';
import { HASH_SEED_BYTES, NonceHash, NonceTable } from './nonce-table.ts';

export interface ReplayLimits {
  /** Minimum number of nonces available to each client, regardless of others. */
  perClientMax: number;
  /** Total for all clients. A client may exceed its own limit while less than half of this is used. */
  totalMax: number;
}

export const REPLAY_LIMITS: ReplayLimits = { perClientMax: 250_000, totalMax: 2_500_000 };

/** Nonces are grouped by the time of their request into tables of this span, each dropped as a whole. */
const SPAN_MS = 10_000;
/** Minimum count charged for a table, which also limits the number of tables. */
const TABLE_NONCES = 16;

interface ClientNonces {
  count: number;
  readonly tables: Map<number, NonceTable>;
}

/** Remembers requests for as long as they could be replayed. */
export class ReplayMemory {
  readonly #limits: ReplayLimits;
  readonly #maxAgeMs: number;
  readonly #nonce: NonceHash;
  readonly #clients = new Map<string, ClientNonces>();
  /** Clients with a table, by span. */
  readonly #spans = new Map<number, Set<string>>();
  #total = 0;
  #oldestSpan = Infinity;
  #horizonMs = 0;

  /** @param maxAgeMs maximum difference between a request's timestamp and now, either way */
  constructor(limits: ReplayLimits, maxAgeMs: number, random: Random) {
    this.#limits = limits;
    this.#maxAgeMs = maxAgeMs;
    this.#nonce = new NonceHash(random.bytes(HASH_SEED_BYTES));
  }

  /**
   * Requests signed before this cannot be distinguished from replays. Milliseconds since the epoch; never decreases.
   */
  get horizonMs(): number {
    return this.#horizonMs;
  }

  raiseHorizon(ms: number): void {
    this.#horizonMs = Math.max(this.#horizonMs, ms);
  }

  /** Total charged, of `totalMax`. */
  get total(): number {
    return this.#total;
  }

  get clients(): number {
    return this.#clients.size;
  }

  /**
   * Records a request within `maxAgeMs` and returns the bytes of its nonce, valid until the next call.
   *
   * @throws RemoteFailure REPLAYED, EXPIRED (before the horizon), QUEUE_FULL
   */
  remember(client: string, nonce: string, timestampMs: number, nowMs: number): Buffer {
    this.#forget(nowMs);
    if (timestampMs < this.#horizonMs) throw beforeHorizon(this.#horizonMs);
    const known = this.#clients.get(client);
    const read = this.#nonce.read(nonce);
    if (known !== undefined) {
      for (const table of known.tables.values()) if (table.has(read)) throw new RemoteFailure('REPLAYED');
      this.#requireWithinLimits(known, nowMs);
    } else this.#requireWithinLimits(null, nowMs);
    this.#add(client, timestampMs, read);
    return read.bytes;
  }

  /** Restores a record from disk; ignores expired and duplicate ones. */
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

  #requireWithinLimits(own: ClientNonces | null, nowMs: number): void {
    const { perClientMax, totalMax } = this.#limits;
    const full = this.#total >= totalMax;
    if (!full && (own === null || own.count < perClientMax || this.#total < totalMax / 2)) return;
    const oldest = full || own === null ? this.#oldestSpan : Math.min(...own.tables.keys());
    const waitMs = spanEndMs(oldest) + this.#maxAgeMs - nowMs;
    const whose = full ? 'all callers' : 'this caller';
    throw new RemoteFailure('QUEUE_FULL', `The replay memory of ${whose} is full`, {
      retryAfterSecs: Math.max(1, Math.ceil(waitMs / 1000)),
    });
  }

  /** Drops spans whose requests would be rejected as too old. */
  #forget(nowMs: number): void {
    while (spanEndMs(this.#oldestSpan) + this.#maxAgeMs <= nowMs) {
      const span = this.#oldestSpan;
      for (const client of this.#spans.get(span) ?? []) this.#forgetTable(client, span);
      this.#spans.delete(span);
      // If the clock is set back, dropped requests must stay rejected.
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

/** Without any tables the oldest span is infinite, and so is its end. */
function spanEndMs(span: number): number {
  return (span + 1) * SPAN_MS;
}

function beforeHorizon(horizonMs: number): RemoteFailure {
  const since = new Date(horizonMs).toISOString();
  return new RemoteFailure(
    'EXPIRED',
    `Requests signed before ${since} cannot be checked for replays; sign the request again`,
  );
}
