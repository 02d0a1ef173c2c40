import { createHash } from 'node:crypto';

import type { JsonValue } from '@heddle/base/json';
import type { ClientTransport } from '@heddle/executor/client/port';
import { RemoteFailure, type OutcomeCode } from '@heddle/executor/protocol/codes';
import type { SignedRequest, SignedResponse } from '@heddle/executor/internal/protocol/envelope';
import { deriveClientKey, deriveSigningKeys, signResponse, verifyRequest } from '@heddle/executor/protocol/mac';
import type {
  AckRequest,
  CancelRequest,
  PendingResponse,
  PollRequest,
  ResponsePayload,
  SubmitRequest,
} from '@heddle/executor/protocol/messages';
import { credentialsFor } from '@heddle/executor/security/client-credentials';
import type { Clock } from '@heddle/base/clock';

const SECRET = new Uint8Array(32).fill(7);
const CLIENT = 'tests';
const AUDIENCE = 'executors';
export const CREDENTIALS = credentialsFor(CLIENT, AUDIENCE, [{ id: 'k1', secret: SECRET }]);

const KEYS = deriveSigningKeys(deriveClientKey(SECRET, CLIENT));
const AGE_MAX_MS = 60_000;

interface Task {
  correlation_id: string;
  key: string;
  event_name: string;
  digest: string;
  created_at: string;
  outcome: ResponsePayload | null;
  ended: Promise<null>;
  end: (outcome: ResponsePayload) => void;
}

export type Run = (event: string, args: SubmitRequest['args'], signal: AbortSignal) => JsonValue | Promise<JsonValue>;

export interface MemoryExecutorOptions {
  clock: Clock;
  run: Run;
  /** How far its clock is ahead. */
  skewMs?: number;
  maxPending?: number;
}

/** An in-memory executor that performs the checks of the protocol and counts runs. */
export class MemoryExecutor {
  readonly #options: MemoryExecutorOptions;
  readonly #nonces = new Set<string>();
  readonly #tasks = new Map<string, Task>();
  readonly #byKey = new Map<string, Task>();
  readonly #running = new Map<Task, AbortController>();
  /** Number of runs by key. */
  readonly runs = new Map<string, number>();
  readonly acknowledged = new Set<string>();
  readonly canceled = new Set<string>();
  readonly received: string[] = [];
  /** If set, every request gets this response. */
  refuses: RemoteFailure | null = null;
  draining = false;

  constructor(options: MemoryExecutorOptions) {
    this.#options = options;
  }

  now(): number {
    return this.#options.clock.now() + (this.#options.skewMs ?? 0);
  }

  async handle(request: SignedRequest): Promise<SignedResponse> {
    let payload: ResponsePayload;
    try {
      this.#authenticate(request);
      if (this.refuses !== null && request.method !== 'status') throw this.refuses;
      payload = await this.#answer(request);
    } catch (error) {
      if (!(error instanceof RemoteFailure)) throw error;
      payload = this.#error('', error);
    }
    const correlation_id = 'correlation_id' in payload ? payload.correlation_id : '';
    const { key_id, nonce, client, audience, method } = request;
    const bytes = Buffer.from(JSON.stringify(payload));
    const fields = { key_id, nonce, client, audience, method, correlation_id, sequence: 0, payload: bytes };
    return signResponse({ ...fields, timestamp_ms: this.now() }, KEYS);
  }

  #authenticate(request: SignedRequest): void {
    if (Math.abs(this.now() - request.timestamp_ms) > AGE_MAX_MS) throw new RemoteFailure('EXPIRED');
    if (!verifyRequest(request, KEYS.request)) throw new RemoteFailure('INVALID_CHECKSUM');
    if (this.#nonces.has(request.nonce)) throw new RemoteFailure('REPLAYED');
    this.#nonces.add(request.nonce);
    if (request.audience !== AUDIENCE) throw new RemoteFailure('FORBIDDEN');
  }

  async #answer(request: SignedRequest): Promise<ResponsePayload> {
    const payload = JSON.parse(Buffer.from(request.payload).toString()) as unknown;
    this.received.push(request.method);
    switch (request.method) {
      case 'submit':
        return this.#submit(payload as SubmitRequest);
      case 'poll':
        return this.#poll(payload as PollRequest);
      case 'cancel':
        return this.#cancel(payload as CancelRequest);
      case 'ack':
        return this.#ack(payload as AckRequest);
      case 'events':
        return { status: 'ok', events: [] };
      case 'event': {
        const { event_name } = payload as { event_name: string };
        return { status: 'ok', event_name, exists: event_name === 'Echo' };
      }
      case 'status':
        return this.#status();
    }
  }

  async #submit(request: SubmitRequest): Promise<ResponsePayload> {
    const { idempotency_key: key = '', mode = 'sync' } = request;
    const digest = createHash('sha256').update(JSON.stringify(request)).digest('hex');
    let task = this.#byKey.get(key);
    if (task !== undefined && task.digest !== digest) throw new RemoteFailure('IDEMPOTENCY_MISMATCH');
    if (task === undefined) {
      if (this.draining) throw new RemoteFailure('SHUTTING_DOWN');
      if (this.#running.size >= (this.#options.maxPending ?? Infinity)) {
        throw new RemoteFailure('QUEUE_FULL', undefined, { retryAfterSecs: 1 });
      }
      task = this.#admit(key, digest, request);
    }
    if (mode === 'sync') await task.ended;
    return task.outcome ?? this.#pending(task);
  }

  #admit(key: string, digest: string, { event_name, args }: SubmitRequest): Task {
    const { promise: ended, resolve } = Promise.withResolvers<null>();
    const task: Task = {
      correlation_id: crypto.randomUUID(),
      key,
      event_name,
      digest,
      created_at: new Date(this.now()).toISOString(),
      outcome: null,
      ended,
      end: (outcome) => {
        task.outcome ??= outcome;
        this.#running.delete(task);
        resolve(null);
      },
    };
    this.#tasks.set(task.correlation_id, task);
    this.#byKey.set(key, task);
    void this.#run(task, args);
    return task;
  }

  async #run(task: Task, args: SubmitRequest['args']): Promise<void> {
    const { correlation_id, key, event_name } = task;
    const controller = new AbortController();
    this.#running.set(task, controller);
    this.runs.set(key, (this.runs.get(key) ?? 0) + 1);
    try {
      const result = await this.#options.run(event_name, args, controller.signal);
      task.end({ correlation_id, status: 'success', result, completed_at: new Date(this.now()).toISOString() });
    } catch (error) {
      task.end(this.#error(correlation_id, error));
    }
  }

  async #poll({ correlation_id, wait_secs = 0 }: PollRequest): Promise<ResponsePayload> {
    const task = this.#tasks.get(correlation_id);
    if (task === undefined) throw new RemoteFailure('NOT_FOUND');
    if (wait_secs > 0) await Promise.race([task.ended, this.#options.clock.sleep(wait_secs * 1000)]);
    return task.outcome ?? this.#pending(task);
  }

  #cancel({ correlation_id = '', idempotency_key = '' }: CancelRequest): ResponsePayload {
    const task = this.#tasks.get(correlation_id) ?? this.#byKey.get(idempotency_key);
    if (task === undefined) throw new RemoteFailure('NOT_FOUND');
    if (task.outcome === null) {
      this.canceled.add(task.key);
      this.#running.get(task)?.abort();
      task.end(this.#error(task.correlation_id, new RemoteFailure('CANCELED')));
    }
    return task.outcome!;
  }

  #ack({ correlation_ids }: AckRequest): ResponsePayload {
    const acknowledged = correlation_ids.filter((id) => (this.#tasks.get(id)?.outcome ?? null) !== null);
    for (const id of acknowledged) {
      this.acknowledged.add(this.#tasks.get(id)!.key);
      this.#tasks.delete(id);
    }
    return { status: 'ok', acknowledged };
  }

  #status(): ResponsePayload {
    return {
      status: this.draining ? 'draining' : 'healthy',
      executor: AUDIENCE,
      version: '0.0.0',
      tier: 'process',
      workers: 8,
      busy: this.#running.size,
      queue_depth: 0,
      max_pending_tasks: 100,
      uptime_seconds: 1,
      recent: [],
    };
  }

  #pending({ correlation_id, event_name, created_at }: Task): PendingResponse {
    const progress = { fraction: 0.5, message: 'half' };
    return { correlation_id, status: 'running', event_name, created_at, expires_at: created_at, progress };
  }

  #error(correlation_id: string, error: unknown): ResponsePayload {
    const failure =
      error instanceof RemoteFailure
        ? error
        : new RemoteFailure('EXECUTION_FAILED' satisfies OutcomeCode, (error as Error).message);
    const { code, message, details, retryAfterSecs } = failure;
    return {
      correlation_id,
      status: 'error',
      code,
      message,
      timestamp: new Date(this.now()).toISOString(),
      ...(details.length === 0 ? {} : { details }),
      ...(retryAfterSecs === undefined ? {} : { retry_after_secs: retryAfterSecs }),
    };
  }
}

/** Passes calls to an executor unchanged. */
export function directTransport(executor: MemoryExecutor, endpoint: ClientTransport['endpoint']): ClientTransport {
  return { endpoint, call: (request) => executor.handle(request), close: () => Promise.resolve() };
}
