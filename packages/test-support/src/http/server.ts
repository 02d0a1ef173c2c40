import { newId } from '@heddle/base/random';
import { createHash } from 'node:crypto';

import type { ApiToken, TokenScope } from '@heddle/core/domain/token';
import type { Engine } from '@heddle/core/engine/port';
import type { Jobs } from '@heddle/core/engine/schedule/port';
import type {
  Definition,
  DefinitionRepository,
  HttpConfig,
  Queues,
  ServerDependencies,
} from 'heddle/internal/http/ports';
import { buildServer, type App } from 'heddle/internal/http/server';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { createMetrics } from '@heddle/core/metrics/metrics';
import { createTracer } from '@heddle/base/trace';
import { EngineStub } from './engine-stub.ts';
import { noPool } from './pool-stub.ts';
import { noAgents, noArtifacts, noOverview, noSecrets, noSessions } from './unused-parts.ts';

export const HANDLE_KEY = Buffer.alloc(32, 7);

/** Tokens, definitions and keys in memory: minimal implementations of the server's ports. */
export class TokensInMemory {
  readonly tokens = new Map<string, ApiToken>();
  reads = 0;
  touches = 0;

  add(text: string, scopes: TokenScope[], change: Partial<ApiToken> = {}): ApiToken {
    const token_hash = createHash('sha256').update(text).digest();
    const token = {
      id: newId(),
      name: text,
      token_hash,
      scopes,
      kinds: null,
      classes: null,
      created_at: 0,
      expires_at: null,
      revoked_at: null,
    };
    const stored: ApiToken = { ...token, last_used_at: null, ...change };
    this.tokens.set(token_hash.toString('hex'), stored);
    return stored;
  }

  findByHashes(hashes: readonly Uint8Array[]): Promise<ApiToken[]> {
    this.reads += hashes.length;
    const found = hashes.flatMap((hash) => this.tokens.get(Buffer.from(hash).toString('hex')) ?? []);
    return Promise.resolve(found.map((token) => ({ ...token })));
  }

  create(): Promise<never> {
    return Promise.reject(new Error('add() adds tokens to the stand-in'));
  }

  list(): Promise<ApiToken[]> {
    return Promise.resolve([...this.tokens.values()]);
  }

  revoke(): Promise<null> {
    return Promise.resolve(null);
  }

  touch(): Promise<void> {
    this.touches += 1;
    return Promise.resolve();
  }
}

export class DefinitionsInMemory implements DefinitionRepository {
  readonly stored = new Map<string, Definition>();

  find(type: string, names: readonly string[]): Promise<Map<string, Definition>> {
    const found = names.flatMap((name) => this.stored.get(`${type}/${name}`) ?? []);
    return Promise.resolve(new Map(found.map((definition) => [definition.name, definition])));
  }

  list(type: string): Promise<Definition[]> {
    return Promise.resolve([...this.stored].filter(([key]) => key.startsWith(`${type}/`)).map(([, value]) => value));
  }

  put(type: string, name: string, body: unknown): Promise<Definition> {
    const definition = { name, body, updated_at: 0 };
    this.stored.set(`${type}/${name}`, definition);
    return Promise.resolve(definition);
  }

  remove(type: string, name: string): Promise<boolean> {
    return Promise.resolve(this.stored.delete(`${type}/${name}`));
  }
}

/** No jobs; tests of jobs use a real database. */
const noJobs: Jobs = {
  create: () => Promise.reject(new Error('the stand-in stores no jobs')),
  get: () => Promise.resolve(null),
  list: () => Promise.resolve([]),
  update: () => Promise.resolve(null),
  remove: () => Promise.resolve(false),
  pause: () => Promise.resolve(null),
  resume: () => Promise.resolve(null),
  trigger: () => Promise.resolve(null),
  upcoming: () => Promise.resolve(null),
  preview: () => Promise.resolve([]),
  backfill: () => Promise.resolve(null),
  calendar: () => Promise.resolve({ entries: [], left_out: 0 }),
  history: () => Promise.resolve(null),
};

/** No kinds; tests of kinds use a real database. */
const noKinds: ServerDependencies['kinds'] = {
  list: () => Promise.resolve([]),
  get: () => Promise.resolve(null),
  inputFaults: () => Promise.resolve([]),
};

/** No findings; tests of findings use a real database. */
const noFindings: ServerDependencies['findings'] = {
  list: () => Promise.resolve([]),
  get: () => Promise.resolve(null),
  triage: () => Promise.resolve([]),
  targets: () => Promise.resolve([]),
};

/** No runs; tests of runs use a real database. */
const noRuns: ServerDependencies['runs'] = {
  list: () => Promise.resolve({ runs: [], next: null, examined: 0 }),
  get: () => Promise.resolve(null),
  names: () => Promise.resolve({ names: [], next: null, examined: 0 }),
  grid: () => Promise.resolve({ runs: [], tasks: [], cells: [], tasks_left_out: 0, partial: false }),
  timeline: () => Promise.resolve(null),
  search: () => Promise.resolve({ runs: [], tasks: [], others: [], tasks_examined: 0 }),
  taskNames: () => Promise.resolve(new Map()),
};

/** No models; tests of models use a real database. */
const noModels: ServerDependencies['models'] = {
  list: () => Promise.resolve([]),
  get: () => Promise.resolve(null),
  targets: () => Promise.resolve([]),
};

/** Empty queues; tests of queues use real ones. */
const noQueues: Queues = {
  depth: () => Promise.resolve({ visible: 0, in_flight: 0, delayed: 0, dead: 0 }),
  listDead: () => Promise.resolve([]),
  redrive: () => Promise.resolve(0),
};

export interface TestServer {
  app: App;
  stub: EngineStub;
  tokens: TokensInMemory;
  definitions: DefinitionsInMemory;
  dependencies: ServerDependencies;
}

export interface TestServerOptions extends Partial<Omit<ServerDependencies, 'config' | 'engine'>> {
  engine?: Engine;
  config?: Partial<HttpConfig>;
}

/** A server that does not listen: `app.inject` sends requests to it. */
export async function createTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const stub = new EngineStub();
  const tokens = new TokensInMemory();
  const definitions = new DefinitionsInMemory();
  const dependencies: ServerDependencies = {
    engine: stub.engine,
    runs: noRuns,
    kinds: noKinds,
    jobs: noJobs,
    findings: noFindings,
    models: noModels,
    executors: { list: () => [] },
    pool: noPool,
    agents: noAgents,
    queues: noQueues,
    overview: noOverview,
    audit: { entryOf: JSON.stringify, record: () => Promise.resolve(), list: () => Promise.resolve([]) },
    tokens,
    sessionRepository: noSessions,
    identityProvider: null,
    definitions,
    artifacts: noArtifacts,
    namedSecrets: noSecrets,
    secrets: { keys: () => Promise.resolve([HANDLE_KEY]) },
    metrics: createMetrics({ processMetrics: false }),
    tracing: await createTracer({ enabled: false, serviceName: 'test' } as Parameters<typeof createTracer>[0]),
    log: silentLogger,
    clock: systemClock,
    database: { ping: () => Promise.resolve(), stats: () => ({ size: 3, idle: 2, waiting: 0 }) },
    breaker: { state: 'closed' },
    newId,
    ...options,
    config: {
      hostUrl: 'http://heddle.test',
      pagination: { default: 50, max: 100 },
      bodyLimitBytes: 64 * 1024 * 1024,
      authRequired: false,
      metricsPublic: true,
      ssrf: (url) => (new URL(url).hostname === 'blocked.test' ? 'is not allowed: blocked.test is blocked' : null),
      pageDirectory: null,
      version: '0.0.0',
      ...options.config,
    },
  };
  const app = buildServer(dependencies);
  await app.ready();
  return { app, stub, tokens, definitions, dependencies };
}

/** The smallest valid task. */
export function task(change: Record<string, unknown> = {}): Record<string, unknown> {
  return { name: 'A task', kind: 'work', ...change };
}

export interface Problem {
  status: number;
  code: string;
  error: string;
  details: string[];
  batch_id?: string;
}
