import { Client, types, type QueryResult } from 'pg';

import { databaseAddresses } from './addresses.ts';
import { ConnectionFailure, connectionFailure } from './pool-failure.ts';

const INT8 = 20;
const INT8_ARRAY = 1016;
const TIMESTAMPTZ = 1184;
const TIMESTAMPTZ_ARRAY = 1185;

/** Session settings; every value is milliseconds. */
export interface SessionLimits {
  /** Statement timeout. */
  statementTimeoutMs: number;
  /** Lock timeout. */
  lockTimeoutMs: number;
}

export interface ConnectionOptions extends Partial<SessionLimits> {
  url: string;
  connectTimeoutMs: number;
  /** Shown in `pg_stat_activity`. */
  applicationName?: string;
  pipeline?: boolean;
}

const UTC_TIMESTAMP = /^(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?\+00$/;
const libraryParser = types.getTypeParser as (oid: number, format?: 'text' | 'binary') => (text: string) => unknown;
/** The library's types describe another version of its array parser. */
const arrays = types.arrayParser as unknown as {
  create(source: string, parseEntry: (entry: string) => unknown): { parse(): unknown[] };
};
const parseArray = (text: string, parseEntry: (entry: string) => unknown): unknown[] =>
  arrays.create(text, parseEntry).parse();

/** Milliseconds since the epoch (microseconds are cut off); `infinity` is Infinity. */
function parseTimestamp(text: string): number {
  const parts = UTC_TIMESTAMP.exec(text);
  // Sessions run in UTC, so dates from year 1000 to 9999 have this form; others take the library's slow path.
  if (parts === null) return Number(libraryParser(TIMESTAMPTZ)(text));
  const [, year, month, day, hour, minute, second, fraction = ''] = parts;
  const ms = Number(fraction.slice(0, 3).padEnd(3, '0'));
  return Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second), ms);
}

const PARSERS = new Map<number, (text: string) => unknown>([
  [INT8, Number],
  [INT8_ARRAY, (text) => parseArray(text, Number)],
  [TIMESTAMPTZ, parseTimestamp],
  [TIMESTAMPTZ_ARRAY, (text) => parseArray(text, parseTimestamp)],
]);

/** Parsers of Heddle's sessions only; the library's global table stays unchanged for other users. */
const typesOfHeddle = {
  getTypeParser(oid: number, format?: 'text' | 'binary'): (text: string) => unknown {
    const own = format === 'binary' ? undefined : PARSERS.get(oid);
    return own ?? libraryParser(oid, format);
  },
};

/** Names outside the schema need no prefix; JIT compilation costs more than set-based statements gain from it. */
function settings(limits: Partial<SessionLimits>): string[] {
  return [
    'search_path = heddle, public',
    "timezone = 'UTC'",
    'jit = off',
    `statement_timeout = ${Math.round(limits.statementTimeoutMs ?? 0)}`,
    `lock_timeout = ${Math.round(limits.lockTimeoutMs ?? 0)}`,
    // A process that stops in the middle of a transaction must not hold its locks forever.
    'idle_in_transaction_session_timeout = 60000',
  ];
}

/** The same for one transaction, whose session belongs to other clients before and after. */
export function transactionSettings(limits: SessionLimits): string {
  return settings(limits)
    .map((setting) => `set local ${setting}`)
    .join(';');
}

/** True on a standby, and on a primary that was set read-only. */
const SESSION_FACTS = `select current_setting('transaction_read_only') = 'on' as is_read_only, pg_backend_pid() as pid`;

interface SessionFacts {
  is_read_only: boolean;
  pid: number;
}

/** Connections through a pooler. */
const pooled = new WeakSet<Client>();

/**
 * Returns whether a pooler lends the session: what one transaction sets or prepares may be gone in the next. A pooler
 * in session mode looks the same, which only costs speed.
 */
export function isPooled(client: Client): boolean {
  return pooled.has(client);
}

/** Of several addresses, the one that was last writable; it is tried first. */
const writable = new Map<string, string>();

/**
 * Opens a connection to the first address of the URL that accepts writes.
 *
 * @throws ConnectionFailure naming the answer of each address
 */
export async function connect(
  options: ConnectionOptions,
  onLost: (error: Error) => void = () => undefined,
): Promise<Client> {
  const addresses = databaseAddresses(options.url);
  if (addresses.length === 1) return connectTo(options, onLost);
  const last = writable.get(options.url);
  const order = last === undefined ? addresses : [last, ...addresses.filter((address) => address !== last)];
  // An address that drops packets must leave time for the others.
  const connectTimeoutMs = options.connectTimeoutMs / order.length;
  const failures: ConnectionFailure[] = [];
  for (const url of order) {
    try {
      const client = await connectTo({ ...options, url, connectTimeoutMs }, onLost);
      writable.set(options.url, url);
      return client;
    } catch (error) {
      failures.push(connectionFailure(error));
    }
  }
  const reasons = failures.map(({ message }, at) => `${new URL(order[at]!).host}: ${message}`);
  throw new ConnectionFailure(
    `No address of the database accepts writes: ${reasons.join('; ')}`,
    failures[0],
    failures.some(({ transient }) => transient),
  );
}

/**
 * Opens one connection with Heddle's parsers (int8 and timestamptz as numbers, the latter in milliseconds) and session
 * settings. It never emits an unhandled 'error'; once established, its end is reported to `onLost`, whatever the cause.
 *
 * @throws ConnectionFailure
 */
async function connectTo(options: ConnectionOptions, onLost: (error: Error) => void): Promise<Client> {
  const client = new Client({
    connectionString: options.url,
    application_name: options.applicationName ?? 'heddle',
    connectionTimeoutMillis: Math.max(1, Math.round(options.connectTimeoutMs)),
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    pipeline: options.pipeline ?? true,
    types: typesOfHeddle,
  });
  const state: { lost: Error | null; established: boolean } = { lost: null, established: false };
  const lose = (error: Error): void => {
    if (state.lost !== null) return;
    state.lost = error;
    if (state.established) onLost(error);
  };
  client.on('error', lose);
  client.on('end', () => lose(new Error('Connection terminated')));
  try {
    await client.connect();
    // The library's types do not declare that several statements have several results.
    const text = [...settings(options).map((setting) => `set ${setting}`), SESSION_FACTS].join(';');
    const results = (await client.query(text)) as unknown as QueryResult<SessionFacts>[];
    const facts = results.at(-1)!.rows[0]!;
    // A pooler invents the backend number used to cancel; this is the server's own process number.
    if ((client as Client & { processID: number | null }).processID !== facts.pid) pooled.add(client);
    if (facts.is_read_only) {
      throw new ConnectionFailure(
        'The server does not accept writes: it is a standby, or read-only by its settings',
        null,
        true,
      );
    }
    // A server that shuts down says so right behind its first answer.
    if (state.lost !== null) throw state.lost;
    state.established = true;
    return client;
  } catch (error) {
    abandon(client);
    throw connectionFailure(error);
  }
}

/** Closes the socket at once; pending statements fail with `reason`. */
export function abandon(client: Client, reason?: Error): void {
  client.connection.stream.destroy(reason);
}
