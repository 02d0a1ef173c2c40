import type { KnownClasses } from '../domain/runner/parse-requirements.ts';
import type { ApiToken } from '../domain/token.ts';
import type { Engine } from '../engine/port.ts';
import type { Findings } from '../engine/findings/port.ts';
import type { Models } from '../engine/models/port.ts';
import type { Jobs } from '../engine/schedule/port.ts';
import type { PoolOperations } from '../pool/pool-port.ts';
import type { BreakerState } from '../runtime/breaker.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/log.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { Tracing } from '../runtime/trace.ts';

/** Looks tokens up; the store implements it. */
export interface TokenReader {
  findByHash(hash: Uint8Array): Promise<ApiToken | null>;
  /** Records that the token was used. */
  touch(id: string, atMs: number): Promise<void>;
}

export type DefinitionType = 'rule' | 'action';

/** A stored rule or action, in the wire form it was given in. */
export interface Definition {
  name: string;
  body: unknown;
  /** Milliseconds since the epoch. */
  updated_at: number;
}

export interface DefinitionRepository {
  /** Those of the names that exist, by name. */
  find(type: DefinitionType, names: readonly string[]): Promise<Map<string, Definition>>;
  list(type: DefinitionType): Promise<Definition[]>;
  put(type: DefinitionType, name: string, body: unknown): Promise<Definition>;
  /** Whether there was one. */
  remove(type: DefinitionType, name: string): Promise<boolean>;
}

/** The keys that handles are signed with: the current one first, then those being rotated out. */
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
  /** Whether `/metrics` needs none. */
  metricsPublic: boolean;
  /** Says why a webhook address is not allowed; null where it is. */
  ssrf: (url: string) => string | null;
  /** Classes of runner that the pool has; null or absent where they are not known, and any name is taken. */
  resourceClasses?: KnownClasses;
  /** Where the built page lies; null where there is none. */
  pageDirectory: string | null;
  version: string;
  /** Names in `Host` that are answered without a token, beside those of loopback; absent: any, as beyond loopback. */
  allowedHosts?: readonly string[];
  /** Milliseconds after a task's end during which its handles still answer. Default one hour. */
  handleGraceMs?: number;
  /** Event streams that may be open at once. Default 256. */
  maxEventStreams?: number;
  /** Time that a health check waits for the database, milliseconds. Default 2,000. */
  healthTimeoutMs?: number;
}

/** What the API shows of queues; the queue fulfils it. Times are milliseconds since the epoch. */
export interface Queues {
  depth(queue: string): Promise<{ visible: number; in_flight: number; delayed: number; dead: number }>;
  listDead(queue: string | null, page: { offset: number; limit: number }): Promise<QueuedDeadLetter[]>;
  redrive(queue: string, ids: readonly string[] | null): Promise<number>;
}

/** What the API shows of the executors that remote events go to. Times are milliseconds since the epoch. */
export interface Executors {
  /** As they were when they last said so. */
  list(): readonly ExecutorEndpoint[];
}

export interface ExecutorEndpoint {
  /** What tasks name it by. */
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
  died_at: number;
}

export interface ServerDependencies {
  engine: Engine;
  jobs: Jobs;
  findings: Omit<Findings, 'retain'>;
  models: Omit<Models, 'retain' | 'latestRuns'>;
  executors: Executors;
  pool: PoolOperations;
  queues: Queues;
  tokens: TokenReader;
  definitions: DefinitionRepository;
  secrets: SigningKeys;
  metrics: Metrics;
  tracing: Tracing;
  log: Logger;
  clock: Clock;
  database: { ping(): Promise<void>; stats(): { size: number; idle: number; waiting: number } };
  breaker: { readonly state: BreakerState };
  /** A new task or batch id. */
  newId: () => string;
  config: HttpConfig;
}
