import type { KnownClasses } from '@heddle/core/domain/runner/parse-requirements';
import type { OwnerKey, Session, SessionOwner } from '@heddle/core/domain/session';
import type { ApiToken, TokenScope } from '@heddle/core/domain/token';
import type { AuditLog } from '@heddle/core/engine/audit-log';
import type { Artifacts, Engine } from '@heddle/core/engine/port';
import type { Findings } from '@heddle/core/engine/findings/port';
import type { Overview } from '@heddle/core/engine/overview/port';
import type { Models } from '@heddle/core/engine/models/port';
import type { NamedSecrets } from '@heddle/core/engine/port';
import type { Runs } from '@heddle/core/engine/runs/port';
import type { KindDirectory } from '@heddle/core/engine/kinds/port';
import type { Jobs } from '@heddle/core/engine/schedule/port';
import type { AgentConnection } from '@heddle/core/pool/agent/agent';
import type { Orders, Registration } from '@heddle/core/pool/port/store';
import type { PoolOperations } from '@heddle/core/pool/pool-port';
import type { BreakerState } from '@heddle/base/breaker';
import type { JsonObject } from '@heddle/base/json';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import type { Metrics } from '@heddle/core/metrics/metrics';
import type { Tracing } from '@heddle/base/trace';

/** Finds tokens; implemented by the store. */
export interface TokenReader {
  /** Returns those that exist, in any order. */
  findByHashes(hashes: readonly Uint8Array[]): Promise<ApiToken[]>;
  /** Records that the token was used. */
  touch(id: string, atMs: number): Promise<void>;
}

/** Tokens as administrators manage them; implemented by the store. */
export interface TokenRepository extends TokenReader {
  create(
    name: string,
    scopes: readonly TokenScope[],
    expiresAt: number | null,
    limits: Pick<ApiToken, 'kinds' | 'classes'>,
  ): Promise<{ text: string; token: ApiToken }>;
  list(): Promise<ApiToken[]>;
  /** Returns null if there is no such token, or it is revoked already. */
  revoke(id: string): Promise<ApiToken | null>;
}

/** Logins of browsers; implemented by the store. */
export interface SessionRepository {
  /** How long a session may be unused, milliseconds. */
  readonly idleMs: number;
  /** `session` is null if its token was revoked in the meantime. */
  open(
    owner: SessionOwner,
    from: { address: string | null; browser: string | null },
  ): Promise<{ secret: string; session: Session | null }>;
  findByHashes(hashes: readonly Uint8Array[]): Promise<Session[]>;
  touch(id: string, atMs: number, address: string): Promise<void>;
  /** Those of one owner, of users of one name, or (null) all. */
  list(owner: OwnerKey | null, user: string | null): Promise<Session[]>;
  get(id: string): Promise<Session | null>;
  /** Returns whether there was one. */
  end(id: string): Promise<boolean>;
}

/** What ties the response of an identity provider to one login of one browser. */
export interface LoginChecks {
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE. */
  readonly verifier: string;
}

/** A user that the provider vouches for. */
export interface Identity {
  /** Stable id at the provider. */
  readonly subject: string;
  readonly name: string;
  /** Scopes of the user's role; null: no role. */
  readonly scopes: readonly TokenScope[] | null;
}

/**
 * The identity provider that users log in at. Both methods throw IDENTITY_PROVIDER_UNAVAILABLE if it cannot be used, and
 * `finish` LOGIN_REJECTED if the response does not prove an identity.
 */
export interface IdentityProvider {
  readonly issuer: string;
  /** What users call it. */
  readonly label: string;
  /** Returns the URL at which the user logs in; it leads back to `redirectUri`. */
  begin(redirectUri: string): Promise<{ url: string; checks: LoginChecks }>;
  /** @param callback the redirect URI with the parameters that the provider added */
  finish(callback: URL, checks: LoginChecks): Promise<Identity>;
}

export type DefinitionType = 'rule' | 'action';

/** A stored rule or action, in the wire form in which it was given. */
export interface Definition {
  name: string;
  body: unknown;
  /** Milliseconds since the epoch. */
  updated_at: number;
}

export interface DefinitionRepository {
  /** Returns those of the names that exist, by name. */
  find(type: DefinitionType, names: readonly string[]): Promise<Map<string, Definition>>;
  list(type: DefinitionType): Promise<Definition[]>;
  put(type: DefinitionType, name: string, body: unknown): Promise<Definition>;
  /** Returns whether it existed. */
  remove(type: DefinitionType, name: string): Promise<boolean>;
}

/** The keys that sign handles: the current one first, then those being rotated out. */
export interface SigningKeys {
  keys(purpose: 'handle'): Promise<readonly Uint8Array[]>;
}

export interface HttpConfig {
  /** The public base URL. */
  hostUrl: string;
  pagination: { default: number; max: number };
  bodyLimitBytes: number;
  /** Whether requests need a bearer token. */
  authRequired: boolean;
  /** Proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed: addresses or ranges. Default none. */
  trustedProxies?: readonly string[];
  /** Whether `/metrics` requires none. */
  metricsPublic: boolean;
  /** Returns why a webhook may not call an address; null if it may. */
  ssrf: (url: string) => string | null;
  /** Resource classes of the pool; null or absent if unknown, and any name is accepted. */
  resourceClasses?: KnownClasses;
  /** Directory of the built console; null if there is none. */
  pageDirectory: string | null;
  version: string;
  /** Names in `Host` accepted without a token, beside those of loopback; absent for any, as beyond loopback. */
  allowedHosts?: readonly string[];
  /** Milliseconds after a task's end during which its handles remain valid. Default one hour. */
  handleGraceMs?: number;
  /** Maximum open event streams. Default 256. */
  maxEventStreams?: number;
  /** How long a health check waits for the database, milliseconds. Default 2,000. */
  healthTimeoutMs?: number;
}

/** The queue operations of the API, implemented by the queue. Times are milliseconds since the epoch. */
export interface Queues {
  depth(queue: string): Promise<{ visible: number; in_flight: number; delayed: number; dead: number }>;
  listDead(queue: string | null, page: { offset: number; limit: number }): Promise<QueuedDeadLetter[]>;
  redrive(queue: string, ids: readonly string[] | null): Promise<number>;
}

/** The executors shown by the API. Times are milliseconds since the epoch. */
export interface Executors {
  /** Their status at the last response. */
  list(): readonly ExecutorEndpoint[];
}

export interface ExecutorEndpoint {
  /** The name that tasks use. */
  executor: string;
  endpoint: string;
  state: 'unknown' | 'healthy' | 'degraded' | 'draining' | 'unreachable';
  in_flight: number;
  answered_at: number | null;
  last_error: { at: number; message: string } | null;
  clock_offset_ms: number | null;
  status: ExecutorStatus | null;
}

export interface ExecutorStatus {
  version: string;
  tier: string;
  workers: number;
  busy: number;
  queue_depth: number;
  max_pending_tasks: number;
  uptime_seconds: number;
  recent: readonly {
    correlation_id: string;
    event_name: string;
    status: string;
    code?: string;
    created_at: string;
    duration_ms?: number;
  }[];
}

interface QueuedDeadLetter {
  id: string;
  queue: string;
  body: string;
  reason: string;
  receive_count: number;
  sent_at: number;
  dead_lettered_at: number;
}

/** The pool as agents of runners use it. Times are milliseconds. */
export interface RunnerAgents extends AgentConnection {
  readonly times: { readonly heartbeat_ms: number; readonly exit_grace_ms: number; readonly disconnected_ms: number };
  /** Returns the class of the runner that registers; null if there is none. */
  classOf(registration: Registration): Promise<string | null>;
  /** Returns its orders without a heartbeat. */
  orders(runnerId: string): Promise<Orders | null>;
  /** Calls `ring` when the orders of a runner may have changed; returns a function that unsubscribes. */
  onOrders(runnerId: string, ring: () => void): () => void;
}

/** The kinds of tasks, as the server knows them. */
export interface Kinds extends Pick<KindDirectory, 'list' | 'get'> {
  /** Returns why an input is invalid, each fault with its path from `input`; none for kinds whose schema is not known. */
  inputFaults(kind: string, input: JsonObject): Promise<string[]>;
}

export interface ServerDependencies {
  engine: Engine;
  runs: Runs;
  kinds: Kinds;
  jobs: Jobs;
  findings: Omit<Findings, 'retain'>;
  models: Omit<Models, 'retain' | 'latestRuns'>;
  executors: Executors;
  pool: PoolOperations;
  agents: RunnerAgents;
  queues: Queues;
  overview: Overview;
  artifacts: Omit<Artifacts, 'retain' | 'open'>;
  audit: Omit<AuditLog, 'retain'>;
  tokens: TokenRepository;
  sessionRepository: SessionRepository;
  /** Null: users log in with tokens only. */
  identityProvider: IdentityProvider | null;
  definitions: DefinitionRepository;
  namedSecrets: NamedSecrets;
  secrets: SigningKeys;
  metrics: Metrics;
  tracing: Tracing;
  log: Logger;
  clock: Clock;
  database: { ping(): Promise<void>; stats(): { size: number; idle: number; waiting: number } };
  breaker: { readonly state: BreakerState };
  /** Generates a task or batch id. */
  newId: () => string;
  config: HttpConfig;
}
