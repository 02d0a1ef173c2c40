import { createTaskTracing } from '../../../src/observe/spans.ts';
import { createRemoteMetrics, type RemoteMetrics } from '../../../src/observe/metrics.ts';
import type { AuditEntry } from '../../../src/audit/port.ts';
import type { EventRegistry, ResolvedEvent } from '../../../src/events/port.ts';
import type { DescribedEvent, ExecutionTier, Job, JobHooks, JobOutcome } from '../../../src/execution/port.ts';
import { createRemoteManager, type OpenRemoteManager } from '../../../src/manager/manager.ts';
import type { RemoteManagerOptions, RemoteManagerSettings } from '../../../src/manager/options.ts';
import type { JournalFiles } from '../../../src/manager/journal/files.ts';
import type { Reply } from '../../../src/manager/port.ts';
import { RemoteFailure, type RemoteCode } from '../../../src/protocol/codes.ts';
import { isAnswerTo, signRequest, verifyResponse } from '../../../src/protocol/mac.ts';
import type { RemoteMethod, RequestPayloads, Tier } from '../../../src/protocol/messages.ts';
import { openAuthenticator } from '../../../src/security/authenticator.ts';
import { memoryKeyRing, type KeyRing } from '../../../src/security/key-ring.ts';
import type { Authenticator, Received } from '../../../src/security/port.ts';
import { systemClock, type Clock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { seededRandom } from '@heddle/base/random';
import { createTracer } from '@heddle/base/trace';

export const AUDIENCE = 'executor';
export const KEY_ID = 'k1';

/** Members of responses, of all kinds. */
export interface Payload {
  correlation_id?: string;
  status: string;
  result?: unknown;
  code?: RemoteCode;
  message?: string;
  details?: string[];
  retry_after_secs?: number;
  available_events?: string[];
  progress?: unknown;
  acknowledged?: string[];
  events?: { event_name: string }[];
  exists?: boolean;
  recent?: { correlation_id: string; status: string; code?: string }[];
}

export interface Call {
  client?: string;
  signal?: AbortSignal;
  onProgress?: (reply: Reply) => void;
  change?: (received: Received) => Received;
}

/** A run that a test can end. */
export interface Run {
  readonly job: Job;
  readonly hooks: JobHooks;
  readonly args: unknown;
  end(outcome: JobOutcome): void;
  /** Ends it with a JSON result. */
  succeed(result?: unknown): void;
}

/**
 * A tier without processes, which records the jobs that the manager starts, their concurrency and order. Runs end by
 * themselves if `answer` returns a result.
 */
export class OpenTier implements ExecutionTier {
  readonly tier: Tier = 'process';
  readonly runs: Run[] = [];
  readonly open = new Set<Run>();
  mostAtOnce = 0;
  answer: ((job: Job) => JobOutcome | Promise<JobOutcome> | null) | null = null;
  #onRun: (() => void)[] = [];

  async run(job: Job, hooks: JobHooks): Promise<JobOutcome> {
    const { promise, resolve } = Promise.withResolvers<JobOutcome>();
    const end = (outcome: JobOutcome): void => {
      this.open.delete(run);
      resolve(outcome);
    };
    const run: Run = {
      job,
      hooks,
      args: JSON.parse(Buffer.from(job.args).toString()),
      end,
      succeed: (result = null) => end({ status: 'success', result: Buffer.from(JSON.stringify(result)) }),
    };
    this.runs.push(run);
    this.open.add(run);
    this.mostAtOnce = Math.max(this.mostAtOnce, this.open.size);
    hooks.onStart();
    hooks.signal.addEventListener('abort', () => end({ status: 'error', code: 'CANCELED', message: 'canceled' }));
    const answer = this.answer?.(job) ?? null;
    if (answer !== null) end(await answer);
    for (const reported of this.#onRun.splice(0)) reported();
    return await promise;
  }

  /** Resolves once `count` runs have begun. */
  async begun(count: number): Promise<void> {
    while (this.runs.length < count) await new Promise<void>((reported) => this.#onRun.push(reported));
  }

  describe(): Promise<readonly DescribedEvent[]> {
    return Promise.resolve([]);
  }

  warm(): void {
    // Nothing can be started ahead.
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

export interface KnownEvent extends Partial<DescribedEvent> {
  /** Resolves once the code is available. */
  pull?: () => Promise<unknown>;
}

/** A registry of given events that counts the code in use. */
export class GivenEvents implements EventRegistry {
  readonly events: Readonly<Record<string, KnownEvent>>;
  held = 0;

  constructor(events: Readonly<Record<string, KnownEvent>>) {
    this.events = events;
  }

  async resolve(name: string): Promise<ResolvedEvent> {
    const event = this.events[name];
    if (event === undefined) throw new RemoteFailure('EVENT_NOT_REGISTERED');
    await event.pull?.();
    this.held += 1;
    return {
      name,
      code: { digest: 'd'.repeat(64), directory: '/code', entry: 'index.js' },
      definition: definitionOf(name, event),
      source: 'local',
      [Symbol.dispose]: () => {
        this.held -= 1;
      },
    };
  }

  has(name: string): boolean {
    return Object.hasOwn(this.events, name);
  }

  names(): readonly string[] {
    return Object.keys(this.events).sort();
  }

  peek(name: string): ReturnType<EventRegistry['peek']> {
    const event = this.events[name];
    if (event === undefined) return null;
    return { digest: null, source: 'local', definition: definitionOf(name, event) };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function definitionOf(name: string, event: KnownEvent): DescribedEvent {
  const { timeout_secs = null, memory_mb = null, tier = null, idempotent = false } = event;
  return { name, timeout_secs, memory_mb, tier, idempotent };
}

export interface FixtureOptions {
  settings?: Partial<RemoteManagerSettings>;
  events?: Readonly<Record<string, KnownEvent>>;
  clock?: Clock;
  files?: JournalFiles;
  directory?: string;
  tier?: OpenTier;
  /** Overrides the scopes of tokens. */
  scopes?: readonly string[];
  manager?: Partial<RemoteManagerOptions>;
}

/** A manager with callers; authenticator, keys and MACs are real. */
export class Fixture implements AsyncDisposable {
  readonly manager: OpenRemoteManager;
  readonly tier: OpenTier;
  readonly events: GivenEvents;
  readonly audit: AuditEntry[];
  readonly metrics: RemoteMetrics;
  readonly #keys: KeyRing;
  readonly #clock: Clock;
  readonly #authenticator: Authenticator;
  #nonces = 0;

  private constructor(parts: Pick<Fixture, 'manager' | 'tier' | 'events' | 'audit' | 'metrics'>, inner: Inner) {
    this.manager = parts.manager;
    this.tier = parts.tier;
    this.events = parts.events;
    this.audit = parts.audit;
    this.metrics = parts.metrics;
    this.#keys = inner.keys;
    this.#clock = inner.clock;
    this.#authenticator = inner.authenticator;
  }

  static async open(options: FixtureOptions = {}): Promise<Fixture> {
    const { clock = systemClock, tier = new OpenTier(), scopes } = options;
    const keys = memoryKeyRing([{ id: KEY_ID, secret: Buffer.alloc(32, 7) }], clock);
    const random = seededRandom(1 + (entropy += 1));
    const base = { keys, audiences: [AUDIENCE], replayDirectory: null, tokens: null, clock, random };
    const authenticator = await openAuthenticator({ ...base, log: silentLogger });
    const events = new GivenEvents(options.events ?? { Echo: {} });
    const audit: AuditEntry[] = [];
    const metrics = createRemoteMetrics();
    const manager = await createRemoteManager({
      authenticator: scopes === undefined ? authenticator : withScopes(authenticator, scopes),
      keys,
      registry: events,
      tiers: [tier],
      journalDirectory: options.directory ?? '',
      ...(options.files === undefined ? {} : { journalFiles: options.files }),
      audit: { append: (entry) => void audit.push(entry) },
      metrics,
      tracing: createTaskTracing(await TRACING_OFF),
      log: silentLogger,
      clock,
      random,
      settings: { allowedEvents: ['*'], tier: 'process', ...options.settings },
      ...options.manager,
    });
    return new Fixture({ manager, tier, events, audit, metrics }, { keys, clock, authenticator });
  }

  /** Builds a signed request as a listener would pass it on. */
  received<Method extends RemoteMethod>(
    method: Method,
    payload: RequestPayloads[Method] | Uint8Array,
    { client = 'alice', signal = NEVER, change = (same) => same }: Call = {},
  ): Received {
    this.#nonces += 1;
    const bytes = payload instanceof Uint8Array ? payload : Buffer.from(JSON.stringify(payload));
    const fields = {
      key_id: KEY_ID,
      timestamp_ms: this.#clock.now(),
      nonce: String(this.#nonces).padStart(21, 'A') + 'A',
      client,
      audience: AUDIENCE,
      method,
      payload: bytes,
    };
    const request = signRequest(fields, this.#keys.find(KEY_ID, client)!);
    const base = { ingress: 'tcp', peer: null, token: null, traceparent: null } as const;
    return change({ ...base, request, remoteAddress: '127.0.0.1', signal });
  }

  /** Returns the response to a request, after verifying its MAC. */
  async call<Method extends RemoteMethod>(
    method: Method,
    payload: RequestPayloads[Method] | Uint8Array,
    call: Call = {},
  ): Promise<Payload> {
    const received = this.received(method, payload, call);
    const reply = await this.manager.handle(received, call.onProgress);
    return this.read(received, reply);
  }

  /** Parses a response. @throws if it is not signed for the request */
  read({ request }: Received, { response }: Reply): Payload {
    const keys = this.#keys.find(KEY_ID, request.client)!;
    if (!verifyResponse(response, keys.response) || !isAnswerTo(response, request)) throw new Error('not signed');
    const payload = JSON.parse(Buffer.from(response.payload).toString()) as Payload;
    if ((payload.correlation_id ?? '') !== response.correlation_id) throw new Error('another id in the envelope');
    return payload;
  }

  submit(
    args: RequestPayloads['submit']['args'] = {},
    more: Partial<RequestPayloads['submit']> = {},
    call: Call = {},
  ): Promise<Payload> {
    return this.call('submit', { event_name: 'Echo', args, ...more }, call);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.manager.close();
    await this.#authenticator.close();
  }
}

interface Inner {
  keys: KeyRing;
  clock: Clock;
  authenticator: Authenticator;
}

let entropy = 0;
const NEVER = new AbortController().signal;
const TRACING_OFF = createTracer({ enabled: false } as Parameters<typeof createTracer>[0]);

function withScopes(authenticator: Authenticator, scopes: readonly string[]): Authenticator {
  return {
    authenticate: async (received) => ({ ...(await authenticator.authenticate(received)), scopes }),
    close: () => authenticator.close(),
  };
}
