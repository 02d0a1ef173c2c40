/**
 * The example's own service, the target of its webhooks. Heddle calls it when a task is ready; it responds at once,
 * works, counts progress, and ends the task through the handle of the call.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { Handle, Refusal, type Api } from './api.ts';
import { STEPS, type Job, type Step } from './work.ts';

/** Receives log messages; compatible with Heddle's logger. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface ServiceOptions {
  api: Api;
  /** The key that callers must send. */
  key: string;
  /** A port that was used before; 0 for any free one. */
  port: number;
  root: string;
  directory: string;
  /** Pause after each part of the work, milliseconds. */
  paceMs: number;
  log: Log;
  /** Called with the reports of end webhooks. */
  onAnnounced: (text: string) => void;
}

interface Answer {
  status: number;
  body: unknown;
}

const BODY_BYTES_MAX = 1_000_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export class Service {
  readonly #options: ServiceOptions;
  readonly #server: Server;
  /** Running work by the key of its call: a call may be repeated, but its work runs once. */
  readonly #calls = new Map<string, Promise<void>>();
  readonly #running = new Map<string, AbortController>();

  private constructor(options: ServiceOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => void this.#respond(request, response));
  }

  static async start(options: ServiceOptions): Promise<Service> {
    const service = new Service(options);
    await new Promise<void>((resolve, reject) => {
      service.#server.once('error', reject);
      service.#server.listen(options.port, '127.0.0.1', resolve);
    });
    return service;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Aborts running work; Heddle retries it after its timeout. */
  async close(): Promise<void> {
    for (const stop of this.#running.values()) stop.abort();
    this.#server.close();
    this.#server.closeAllConnections();
    await Promise.allSettled(this.#calls.values());
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let answer: Answer;
    try {
      answer = await this.#handle(request);
    } catch (error) {
      this.#options.log.warn({ err: error }, 'request failed');
      answer = { status: 500, body: { error: 'internal error' } };
    }
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer.body));
  }

  async #handle(request: IncomingMessage): Promise<Answer> {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    if (!this.#isKnown(request)) return refuse(401, 'authorization: the key is missing or wrong');
    const taskId = header(request, 'x-task-id');
    if (!UUID.test(taskId)) return refuse(400, 'x-task-id: must name a task');
    const input = await readJson(request);
    if (input === null) return refuse(400, 'the body must be a JSON object');
    if (url.pathname === '/announce') {
      this.#options.onAnnounced(String(input['text']));
      return { status: 200, body: {} };
    }
    if (url.pathname === '/cancel') {
      this.#running.get(taskId)?.abort();
      return { status: 200, body: {} };
    }
    const step = /^\/run\/(\w+)$/.exec(url.pathname)?.[1] ?? '';
    if (!Object.hasOwn(STEPS, step)) return refuse(404, `no such step: ${url.pathname}`);
    return this.#begin(request, url, taskId, STEPS[step]!, input);
  }

  /** The handle must be for the task of the call. */
  #begin(request: IncomingMessage, url: URL, taskId: string, step: Step, input: Record<string, unknown>): Answer {
    const handle = URL.parse(url.searchParams.get('handle') ?? '');
    if (header(request, 'x-task-trigger') !== 'start') return refuse(400, 'x-task-trigger: must be start');
    if (handle?.pathname.endsWith(`/task/${taskId}`) !== true) return refuse(400, 'handle: is for another task');
    const call = header(request, 'idempotency-key');
    if (!this.#calls.has(call)) this.#calls.set(call, this.#work(new Handle(handle.href), taskId, step, input));
    // Registers the action for a cancellation of the task.
    const headers = { authorization: `Bearer ${this.#options.key}` };
    const cancel = { kind: 'Webhook', params: { url: `${this.url}/cancel`, verb: 'Post', body: {}, headers } };
    return { status: 202, body: cancel };
  }

  async #work(handle: Handle, taskId: string, step: Step, input: Record<string, unknown>): Promise<void> {
    const stop = new AbortController();
    this.#running.set(taskId, stop);
    try {
      const metadata = await this.#outcomeOf(handle, taskId, step, input, stop.signal);
      if (!stop.signal.aborted) await handle.update(metadata);
    } catch (error) {
      // A rejection means that the task has ended or that a later attempt has begun: nothing is left to report.
      const { status } = error instanceof Refusal ? error : { status: null };
      this.#options.log.warn({ task_id: taskId, status, err: error }, 'could not end a task');
    } finally {
      this.#running.delete(taskId);
    }
  }

  async #outcomeOf(
    handle: Handle,
    taskId: string,
    step: Step,
    input: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<Parameters<Handle['update']>[0]> {
    try {
      return { status: 'Success', metadata: await step(this.#job(handle, taskId, input, signal)) };
    } catch (error) {
      return { status: 'Failure', failure_reason: error instanceof Error ? error.message : String(error) };
    }
  }

  #job(handle: Handle, taskId: string, input: Record<string, unknown>, signal: AbortSignal): Job {
    const { api, root, directory, paceMs } = this.#options;
    let counted = 0;
    return {
      root,
      directory,
      attempt: handle.attempt,
      input,
      signal,
      parents: async () => api.parents((await handle.task()).batch_id, taskId),
      count: async (new_success, new_failures) => {
        counted += 1;
        await handle.count({ new_success, new_failures }, `${taskId}:${handle.attempt}:${counted}`);
      },
      pause: async () => {
        if (paceMs > 0) await sleep(paceMs, undefined, { signal });
      },
    };
  }

  #isKnown(request: IncomingMessage): boolean {
    const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
    return timingSafeEqual(digest(header(request, 'authorization')), digest(`Bearer ${this.#options.key}`));
  }
}

function header(request: IncomingMessage, name: string): string {
  const value = request.headers[name];
  return typeof value === 'string' ? value : '';
}

function refuse(status: number, error: string): Answer {
  return { status, body: { error } };
}

async function readJson(request: IncomingMessage): Promise<Record<string, unknown> | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length;
    if (bytes > BODY_BYTES_MAX) return null;
    chunks.push(chunk as Buffer);
  }
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
