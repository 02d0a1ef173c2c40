import { DatabaseError, type QueryResult, type QueryResultRow } from 'pg';

import { backoffMs } from '@heddle/base/backoff';
import type { Clock } from '@heddle/base/clock';
import { eventLoopActiveMs } from '@heddle/base/event-loop';
import type { Logger } from '@heddle/base/log';
import { systemRandom, type Random } from '@heddle/base/random';
import { Listener } from './listener.ts';
import { transactionSettings, type SessionLimits } from './pool-connection.ts';
import {
  asCallerError,
  ConnectionFailure,
  connectionFailure,
  isAfterFailure,
  isConnectionError,
  isReadOnly,
  isRetryable,
  isStalePlan,
} from './pool-failure.ts';
import { Pool, type ConnectBreaker, type Lease } from './pool.ts';

export interface Statement {
  /** Name of the prepared statement (63 bytes at most) and `query` label of metrics. */
  readonly name: string;
  readonly text: string;
}

export interface Queryable {
  /**
   * Runs one statement. int8 is returned as number, timestamptz as milliseconds since the epoch, jsonb parsed. An array
   * among the values is a PostgreSQL array, so a JSON array must be passed as a string.
   */
  query<Row>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
}

export interface TransactionOptions {
  isolation?: 'read committed' | 'repeatable read';
  readOnly?: boolean;
}

/**
 * Connection failures surface as DATABASE_UNAVAILABLE, transient faults (full disk, timeouts) as DATABASE_BUSY; other
 * errors of a statement are `pg`'s DatabaseError with its `code`.
 */
export interface Database extends Queryable {
  /**
   * Runs `run` between BEGIN and COMMIT. Retries it after serialization failures and deadlocks, so it must not have
   * effects outside the transaction. Statements that are not awaited one by one are pipelined.
   */
  transaction<T>(run: (tx: Queryable) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /** Calls back with each payload, and with '' after a reconnect. Returns a function that ends the subscription. */
  listen(channel: string, onPayload: (payload: string) => void): Promise<() => Promise<void>>;
  stats(): DatabaseStats;
  /** Resolves when a connection is available, answers, and accepts writes. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export interface DatabaseStats {
  size: number;
  idle: number;
  waiting: number;
  /** Whether sessions come from a pooler. */
  pooled?: boolean;
  /** Whether notifications do not arrive, so that changes are polled instead. */
  polls?: boolean;
}

export interface DatabaseMetrics {
  queryDuration(name: string, seconds: number): void;
  slowQuery(name: string): void;
}

export interface DatabaseOptions {
  url: string;
  /** URL for notifications, past a pooler that may not forward them. The URL itself by default. */
  listenUrl?: string | null;
  maxSize: number;
  minIdle: number;
  /** Retries of a connection after the first failure. */
  acquireRetries: number;
  /** Maximum wait for a connection, all retries together. */
  acquireTimeoutMs: number;
  slowQueryMs: number;
  clock: Clock;
  log: Logger;
  metrics?: DatabaseMetrics;
  breaker?: ConnectBreaker;
  random?: Random;
  /** Statement timeout, by the server's clock. */
  statementTimeoutMs?: number;
  /** Maximum wait for an answer of the server, by our clock; beyond it the connection is closed. */
  answerTimeoutMs?: number;
  lockTimeoutMs?: number;
  idleTimeoutMs?: number;
  applicationName?: string;
}

const PING: Statement = {
  name: 'ping',
  text: `select current_setting('transaction_read_only') = 'on' as is_read_only`,
};
const COMMIT: Statement = { name: 'commit', text: 'commit' };

/** Grace period for the answer of a statement that the server canceled at its timeout. */
const ANSWER_GRACE_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 60_000;

const MAX_RERUNS = 8;
const RERUN_BACKOFF = { base_ms: 2, factor: 2, max_ms: 250, jitter: 0.8 };
const ACQUIRE_BACKOFF = { base_ms: 50, factor: 2, max_ms: 2_000, jitter: 0.5 };

interface Moment {
  at: number;
  activeMs: number;
}

/** Opens a pool; it connects in the background, so an unreachable database surfaces with the first statement. */
export function openDatabase(options: DatabaseOptions): Database {
  return new PooledDatabase(options);
}

class PooledDatabase implements Database {
  readonly #options: DatabaseOptions;
  readonly #random: () => number;
  readonly #pool: Pool;
  readonly #listener: Listener;
  readonly #limits: SessionLimits;
  #pooled = false;

  constructor(options: DatabaseOptions) {
    this.#options = options;
    const random = options.random ?? systemRandom;
    this.#random = () => random.next();
    const { url, clock, log, breaker, statementTimeoutMs = STATEMENT_TIMEOUT_MS } = options;
    this.#limits = { statementTimeoutMs, lockTimeoutMs: options.lockTimeoutMs ?? statementTimeoutMs / 2 };
    this.#pool = new Pool({
      url,
      maxSize: options.maxSize,
      minIdle: options.minIdle,
      idleTimeoutMs: options.idleTimeoutMs ?? 60_000,
      ...this.#limits,
      answerTimeoutMs: options.answerTimeoutMs ?? statementTimeoutMs + ANSWER_GRACE_MS,
      breaker,
      applicationName: options.applicationName ?? 'heddle',
      clock,
      log,
    });
    this.#listener = new Listener({
      url: options.listenUrl ?? url,
      connectTimeoutMs: options.acquireTimeoutMs,
      query: (statement, values) => this.query(statement, values),
      clock,
      log,
    });
  }

  query<Row>(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    return this.#rerunning(statement.name, () =>
      this.#withConnection((lease) =>
        lease.pooled
          ? this.#transact(lease, 'begin', (tx) => tx.query<Row>(statement, values))
          : this.#run<Row>(lease, statement, values),
      ),
    );
  }

  transaction<T>(run: (tx: Queryable) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    const begin = beginText(options);
    return this.#rerunning('transaction', () => this.#withConnection((lease) => this.#transact(lease, begin, run)));
  }

  listen(channel: string, onPayload: (payload: string) => void): Promise<() => Promise<void>> {
    return this.#listener.listen(channel, onPayload);
  }

  stats(): DatabaseStats {
    return { ...this.#pool.stats(), pooled: this.#pooled, polls: this.#listener.polls };
  }

  async ping(): Promise<void> {
    await this.#withConnection(async (lease) => {
      const [row] = await this.#run<{ is_read_only: boolean }>(lease, PING, []);
      if (row?.is_read_only !== true) return;
      lease.distrust();
      this.#pool.discardIdle();
      throw new ConnectionFailure('The database does not accept writes at present', undefined, true);
    });
  }

  async close(): Promise<void> {
    await Promise.all([this.#listener.close(), this.#pool.close()]);
  }

  /** Retries, a bounded number of times, what certainly committed nothing. */
  async #rerunning<T>(name: string, work: () => Promise<T>): Promise<T> {
    for (let rerun = 1; ; rerun += 1) {
      try {
        return await work();
      } catch (error) {
        if (!isRetryable(error)) throw error;
        if (rerun > MAX_RERUNS) throw asCallerError(error);
        this.#options.log.debug({ err: error, query: name, rerun }, 'transaction committed nothing; retrying');
        await this.#options.clock.sleep(backoffMs(RERUN_BACKOFF, rerun, this.#random));
      }
    }
  }

  /** Lends a connection to `work`; converts transient failures to the errors that callers know. */
  async #withConnection<T>(work: (lease: Lease) => Promise<T>): Promise<T> {
    try {
      const lease = await this.#acquire();
      try {
        if (lease.pooled) this.#notePooled();
        return await work(lease);
      } catch (error) {
        if (isStalePlan(error) || isConnectionError(error)) lease.distrust();
        if (isReadOnly(error)) this.#pool.discardIdle();
        throw error;
      } finally {
        lease.release();
      }
    } catch (error) {
      // Conflicts are retried first.
      throw isRetryable(error) ? error : asCallerError(error);
    }
  }

  #notePooled(): void {
    if (this.#pooled) return;
    this.#pooled = true;
    const how = 'statements are not prepared, and settings are sent with each transaction';
    this.#options.log.warn({}, `connected through a pooler: ${how}`);
  }

  async #acquire(): Promise<Lease> {
    const { acquireRetries, acquireTimeoutMs, clock } = this.#options;
    const deadline = clock.monotonic() + acquireTimeoutMs;
    for (let retry = 1; ; retry += 1) {
      try {
        return await this.#pool.acquire(Math.max(1, deadline - clock.monotonic()));
      } catch (error) {
        const waitMs = backoffMs(ACQUIRE_BACKOFF, retry, this.#random);
        const worthIt = error instanceof ConnectionFailure && error.transient;
        if (!worthIt || retry > acquireRetries || clock.monotonic() + waitMs >= deadline) throw error;
        await clock.sleep(waitMs);
      }
    }
  }

  async #transact<T>(lease: Lease, begin: string, run: (tx: Queryable) => Promise<T>): Promise<T> {
    let open = true;
    let failure: unknown;
    const tx: Queryable = {
      query: async <Row>(statement: Statement, values: readonly unknown[] = []) => {
        if (!open) throw new Error(`Statement ${statement.name} came after its transaction had ended`);
        try {
          return await this.#run<Row>(lease, statement, values);
        } catch (error) {
          // A statement behind a failed one gets a generic error; callers that await both must see the cause.
          if (failure === undefined || !isAfterFailure(error)) failure = error;
          throw failure;
        }
      },
    };
    // Not awaited: BEGIN travels with the first statement, which saves a round trip.
    const begun = send(lease, lease.pooled ? `${begin};${transactionSettings(this.#limits)}` : begin);
    begun.catch(() => undefined);
    try {
      const result = await run(tx);
      open = false;
      await begun;
      await this.#commit(lease);
      return result;
    } catch (error) {
      open = false;
      await send(lease, 'rollback').catch(() => lease.distrust());
      throw error;
    }
  }

  async #commit(lease: Lease): Promise<void> {
    const sent = this.#now();
    const { command } = await send(lease, COMMIT.text);
    this.#observe(COMMIT.name, sent);
    // PostgreSQL answers COMMIT of a failed transaction with ROLLBACK and without an error.
    if (command !== 'COMMIT')
      throw new Error('The transaction was rolled back: one of its statements failed without being awaited');
  }

  async #run<Row>(lease: Lease, statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    const sent = this.#now();
    try {
      const { name, text } = statement;
      const query = { text, values: values as unknown[] };
      // Statements prepared in a pooled session may be missing, or collide with those of other clients.
      return (await send(lease, lease.pooled ? query : { name, ...query })).rows as Row[];
    } finally {
      this.#observe(statement.name, sent);
    }
  }

  #now(): Moment {
    return { at: this.#options.clock.monotonic(), activeMs: eventLoopActiveMs() };
  }

  #observe(name: string, sent: Moment): void {
    const { clock, log, metrics, slowQueryMs } = this.#options;
    const durationMs = clock.monotonic() - sent.at;
    metrics?.queryDuration(name, durationMs / 1000);
    if (durationMs < slowQueryMs) return;
    // The answer may have waited for this process to read it, which does not make the query slow.
    const waitedMs = durationMs - (eventLoopActiveMs() - sent.activeMs);
    if (waitedMs < slowQueryMs) return;
    metrics?.slowQuery(name);
    log.warn({ query: name, duration_ms: Math.round(waitedMs) }, 'Slow query');
  }
}

function beginText({ isolation = 'read committed', readOnly = false }: TransactionOptions): string {
  return `begin isolation level ${isolation}${readOnly ? ' read only' : ''}`;
}

/** Runs on a lent connection and classifies errors: of the statement, of the connection, or of the values given. */
async function send(
  lease: Lease,
  query: string | { name?: string; text: string; values: unknown[] },
): Promise<QueryResult<QueryResultRow>> {
  try {
    return await lease.awaiting(lease.client.query<QueryResultRow>(query));
  } catch (error) {
    if (error instanceof DatabaseError) throw error;
    if (lease.lost || isConnectionError(error)) throw connectionFailure(error);
    // A value that could not be encoded leaves the prepared statement half closed.
    lease.distrust();
    throw error;
  }
}
