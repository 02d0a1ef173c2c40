import { escapeIdentifier, type Client } from 'pg';

import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import type { Statement } from './database.ts';
import { abandon, connect, isPooled } from './pool-connection.ts';

export interface ListenerOptions {
  url: string;
  connectTimeoutMs: number;
  /** Runs a statement on another connection. */
  readonly query: <Row>(statement: Statement, values?: readonly unknown[]) => Promise<Row[]>;
  clock: Clock;
  log: Logger;
}

type OnPayload = (payload: string) => void;

const RECONNECT_MS = { first: 100, max: 5_000 };

const SELF_TEST_CHANNEL = 'heddle_self_test';
const SELF_TEST: Statement = { name: 'listener.self_test', text: `select pg_notify('${SELF_TEST_CHANNEL}', $1)` };
const SELF_TEST_MS = 2_000;
/**
 * Changes with everything that becomes visible on the server. The WAL position would not do: a commit is in the log
 * before others can see it, so a poll in between would miss it.
 */
const SNAPSHOT: Statement = { name: 'listener.snapshot', text: 'select pg_current_snapshot()::text as snapshot' };
const POLL_MS = { first: 50, max: 500, factor: 1.5 };

/**
 * Runs LISTEN on its own connection, opened with the first channel. Reopens a lost connection while there are
 * subscribers, and then calls every callback with an empty payload, because notifications may have been missed. Behind
 * a pooler that does not forward notifications it polls: every callback gets an empty payload whenever something was
 * written, soon under load, within half a second otherwise.
 */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #channels = new Map<string, Set<OnPayload>>();
  readonly #closing = new AbortController();
  #client: Client | undefined;
  #connecting: Promise<void> | undefined;
  #reconnecting = false;
  #polling = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  get polls(): boolean {
    return this.#polling;
  }

  /**
   * Resolves once the channel is listened to, or after the first failed connection (retries continue in the background,
   * since a missed notification costs only latency). The returned function ends this subscription.
   */
  async listen(channel: string, onPayload: OnPayload): Promise<() => Promise<void>> {
    if (this.#closing.signal.aborted) throw new Error('The database is closed');
    const callbacks = this.#channels.get(channel) ?? new Set();
    this.#channels.set(channel, callbacks);
    // Its own wrapper, so that the same function may subscribe twice.
    const callback: OnPayload = (payload) => onPayload(payload);
    callbacks.add(callback);
    try {
      if (this.#client !== undefined) await this.#client.query(`listen ${escapeIdentifier(channel)}`);
      else if (!this.#polling) await this.#connectOnce();
    } catch (error) {
      this.#onTrouble(error);
    }
    return () => this.#unlisten(channel, callback);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#channels.clear();
    await this.#connecting?.catch(() => undefined);
    await this.#disconnect();
  }

  async #unlisten(channel: string, callback: OnPayload): Promise<void> {
    const callbacks = this.#channels.get(channel);
    callbacks?.delete(callback);
    if (callbacks?.size !== 0) return;
    this.#channels.delete(channel);
    if (this.#channels.size === 0) await this.#disconnect();
    else await this.#client?.query(`unlisten ${escapeIdentifier(channel)}`).catch(() => undefined);
  }

  async #disconnect(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    if (client !== undefined) await client.end().catch(() => abandon(client));
  }

  #connectOnce(): Promise<void> {
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = undefined));
    return this.#connecting;
  }

  async #connect(): Promise<void> {
    await this.#disconnect();
    const { url, connectTimeoutMs } = this.#options;
    const client: Client = await connect({ url, connectTimeoutMs, applicationName: 'heddle listener' }, (error) => {
      if (this.#client !== client) return;
      this.#client = undefined;
      this.#onTrouble(error);
    });
    client.on('notification', ({ channel, payload }) => this.#deliver(channel, payload ?? ''));
    if (isPooled(client) && !(await this.#hearsNotifications(client))) {
      await client.end().catch(() => abandon(client));
      this.#startPolling();
      return;
    }
    this.#client = client;
    const channels = new Set<string>();
    // Channels may be added while the statements of the first ones run.
    for (let missing = this.#missing(channels); missing.length > 0; missing = this.#missing(channels)) {
      await client.query(missing.map((channel) => `listen ${escapeIdentifier(channel)}`).join(';'));
      for (const channel of missing) channels.add(channel);
    }
    if (this.#closing.signal.aborted || this.#channels.size === 0) await this.#disconnect();
  }

  /** A pooler in session mode forwards notifications; one in transaction mode does not. */
  async #hearsNotifications(client: Client): Promise<boolean> {
    const { clock, query } = this.#options;
    const token = `${process.pid}/${clock.now()}`;
    const tested = new AbortController();
    let hears = false;
    client.on('notification', ({ channel, payload }) => {
      if (channel !== SELF_TEST_CHANNEL || payload !== token) return;
      hears = true;
      tested.abort();
    });
    await client.query(`listen ${SELF_TEST_CHANNEL}`);
    await query(SELF_TEST, [token]);
    await clock.sleep(SELF_TEST_MS, AbortSignal.any([tested.signal, this.#closing.signal]));
    await client.query(`unlisten ${SELF_TEST_CHANNEL}`);
    return hears;
  }

  #startPolling(): void {
    if (this.#polling || this.#closing.signal.aborted) return;
    this.#polling = true;
    const remedy = 'set HEDDLE_LISTEN_URL to an address past the pooler';
    this.#options.log.warn({}, `a pooler does not forward database notifications; polling instead; ${remedy}`);
    void this.#poll();
  }

  async #poll(): Promise<void> {
    const { clock, log, query } = this.#options;
    let last: string | undefined;
    for (let waitMs = POLL_MS.first; !this.#closing.signal.aborted && this.#channels.size > 0;) {
      await clock.sleep(waitMs, this.#closing.signal);
      waitMs = Math.min(waitMs * POLL_MS.factor, POLL_MS.max);
      try {
        const [row] = await query<{ snapshot: string }>(SNAPSHOT);
        if (row!.snapshot === last) continue;
        last = row!.snapshot;
        waitMs = POLL_MS.first;
      } catch (error) {
        log.debug({ err: error }, 'database poll failed');
        continue;
      }
      for (const channel of this.#channels.keys()) this.#deliver(channel, '');
    }
    this.#polling = false;
  }

  #missing(listened: ReadonlySet<string>): string[] {
    return [...this.#channels.keys()].filter((channel) => !listened.has(channel));
  }

  #deliver(channel: string, payload: string): void {
    for (const callback of this.#channels.get(channel) ?? []) {
      try {
        callback(payload);
      } catch (error) {
        this.#options.log.error({ err: error, channel }, 'listener of database notifications failed');
      }
    }
  }

  #onTrouble(error: unknown): void {
    if (this.#closing.signal.aborted || this.#channels.size === 0) return;
    this.#options.log.warn({ err: error }, 'database notifications interrupted; reconnecting');
    void this.#reconnect();
  }

  async #reconnect(): Promise<void> {
    if (this.#reconnecting) return;
    this.#reconnecting = true;
    const { clock, log } = this.#options;
    for (let waitMs = RECONNECT_MS.first; !this.#closing.signal.aborted && this.#channels.size > 0;) {
      try {
        await this.#connectOnce();
        break;
      } catch (error) {
        log.debug({ err: error }, 'database notifications still interrupted');
        await clock.sleep(waitMs, this.#closing.signal);
        waitMs = Math.min(waitMs * 2, RECONNECT_MS.max);
      }
    }
    this.#reconnecting = false;
    if (this.#client === undefined) return;
    for (const channel of this.#channels.keys()) this.#deliver(channel, '');
  }
}
