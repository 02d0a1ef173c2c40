import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';
import { NO_DEPENDENTS, NOTHING_LOGGED, sendJson, sendProblem } from './fixture-answers.ts';
import type { FixtureApi } from './fixture-answers.ts';
import { answerSession, isLoggedIn } from './fixture-session.ts';

/** A stand-in for the server: the built console, canned responses, a stream of events. */

const DIST = join(import.meta.dirname, '../../../web/dist');

/** The strictest policy that the console must work with. */
const CONTENT_SECURITY_POLICY = "default-src 'self'; style-src 'self' 'unsafe-inline'";

const CONTENT_TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export interface FixtureTask {
  id: string;
  name: string;
  kind: string;
  status: string;
  timeout: number;
  metadata: unknown;
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
  last_updated: string;
  success: number;
  failures: number;
  expected_count: number | null;
  failure_reason: string | null;
  batch_id: string;
}

export interface FixtureLink {
  parent_id: string;
  child_id: string;
  requires_success: boolean;
}

export interface FixtureBatch {
  id: string;
  name: string | null;
  tasks: FixtureTask[];
  links: FixtureLink[];
  created_at: string;
  ended_at: string | null;
}

/** Paths of the console itself. */
const PAGES = /^\/((view|workflows|jobs|findings|runs(\/[^/]+)?|tasks\/[^/]+)?)$/;

const TERMINAL = new Set(['Success', 'Failure', 'Canceled']);

export class FixtureServer {
  readonly batches = new Map<string, FixtureBatch>();
  /** Method and path of every request that changes something. */
  readonly operations: string[] = [];
  /** If set, every data request requires a session, which this token opens. */
  token: string | null = null;
  /** If set, the next operation is rejected with this problem. */
  refusal: { status: number; error: string; details: string[] } | null = null;
  /** If set, requests for a stream of events return 404. */
  withoutStreams = false;
  /** Parts that handle requests first. */
  readonly apis: FixtureApi[] = [];
  private readonly streams = new Map<string, Set<ServerResponse>>();
  private server: Server | null = null;
  private port = 0;

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Listens on a free port at first, and on the same one after `stop`. */
  async start(): Promise<void> {
    const server = createServer((request, response) => {
      this.handle(request, response).catch((error: unknown) => {
        response.writeHead(500).end(String(error));
      });
    });
    await new Promise<void>((resolve) => server.listen(this.port, '127.0.0.1', resolve));
    this.port = (server.address() as AddressInfo).port;
    this.server = server;
  }

  async stop(): Promise<void> {
    const server = this.server;
    if (server === null) return;
    this.server = null;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
    this.streams.clear();
  }

  /** Number of pages that follow a batch. */
  listeners(batchId: string): number {
    return this.streams.get(batchId)?.size ?? 0;
  }

  /** Changes tasks like the engine, and notifies the listeners. */
  change(batchId: string, ids: readonly string[], fields: Partial<FixtureTask>): void {
    const batch = this.batches.get(batchId)!;
    const changed = batch.tasks.filter((task) => ids.includes(task.id));
    for (const task of changed) Object.assign(task, { last_updated: new Date().toISOString() }, fields);
    this.send(batchId, 'change', { tasks: changed, batch: summaryOf(batch) });
  }

  /** Ends a batch and its streams, like the server when every task has ended. */
  end(batchId: string): void {
    this.batches.get(batchId)!.ended_at = new Date().toISOString();
    this.send(batchId, 'end', {});
    for (const stream of this.streams.get(batchId) ?? []) stream.end();
  }

  private send(batchId: string, event: string, data: unknown): void {
    const frame = `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    for (const stream of this.streams.get(batchId) ?? []) stream.write(frame);
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url);
    response.setHeader('content-security-policy', CONTENT_SECURITY_POLICY);
    if (PAGES.test(url.pathname)) return sendFile(response, 'index.html');
    if (url.pathname.startsWith('/assets/')) return sendFile(response, url.pathname);
    if (url.pathname === '/v1/session') return answerSession(request, response, this.token);
    if (this.token !== null && !isLoggedIn(request)) {
      sendProblem(response, 401, 'A valid bearer token is required');
      return;
    }
    if (request.method !== 'GET' && this.refuse(response)) {
      this.operations.push(`${request.method} ${url.pathname}`);
      return;
    }
    if (this.apis.some((api) => api.handle(url, request, response))) {
      if (request.method !== 'GET') this.operations.push(`${request.method} ${url.pathname}`);
      return;
    }
    if (request.method !== 'GET') {
      this.operate(request.method ?? '', url.pathname, response);
      return;
    }
    this.answer(url, request, response);
  }

  private answer(url: URL, request: IncomingMessage, response: ServerResponse): void {
    const parts = url.pathname.split('/').slice(1).map(decodeURIComponent);
    const path = parts.join('/');
    if (path === 'v1/batches') {
      sendJson(response, this.list(url.searchParams));
      return;
    }
    if (parts[0] === 'dag') {
      const batch = this.batches.get(parts[1] ?? '');
      if (batch === undefined) {
        sendProblem(response, 404, 'No such batch');
        return;
      }
      sendJson(response, { batch: summaryOf(batch), tasks: batch.tasks, links: batch.links });
      return;
    }
    if (parts[0] === 'v1' && parts[1] === 'batches') {
      const batch = this.batches.get(parts[2] ?? '');
      if (batch === undefined) {
        sendProblem(response, 404, 'No such batch');
        return;
      }
      if (parts[3] === 'events' && this.withoutStreams) {
        sendProblem(response, 404, 'No such resource');
        return;
      }
      if (parts[3] === 'events') {
        this.stream(batch, request, response);
        return;
      }
      sendJson(response, summaryOf(batch));
      return;
    }
    if (path.startsWith('v1/runs/')) {
      const batch = this.batches.get(parts[2] ?? '');
      if (batch === undefined) sendProblem(response, 404, 'No such run');
      else sendJson(response, runOf(batch));
      return;
    }
    if (path === 'v1/webhooks') {
      sendJson(response, []);
      return;
    }
    const task = this.findTask(parts[0] === 'task' ? parts[1] : parts[2]);
    if (task === undefined) {
      sendProblem(response, 404, 'No such task');
      return;
    }
    if (parts[3] === 'explain') {
      sendJson(response, { ...(this.explain(task) as object), dependents: NO_DEPENDENTS });
      return;
    }
    if (parts[3] === 'attempts' || parts[3] === 'logs' || parts[3] === 'artifacts') {
      sendJson(response, parts[3] === 'logs' ? NOTHING_LOGGED : []);
      return;
    }
    const params = { url: 'http://127.0.0.1:9/hash', verb: 'Post', body: { path: '/src' } };
    const attempt = task.started_at === null ? 0 : 1;
    sendJson(response, {
      ...task,
      attempt,
      priority: 0,
      rules: [],
      actions: [{ kind: 'Webhook', trigger: 'Start', params }],
    });
  }

  private list(search: URLSearchParams): unknown[] {
    const page = Number(search.get('page') ?? 0);
    const size = Number(search.get('page_size') ?? 50);
    const open = search.get('open');
    return [...this.batches.values()]
      .sort((a, b) => b.created_at.localeCompare(a.created_at))
      .filter((batch) => open === null || (batch.ended_at === null) === (open === 'true'))
      .slice(page * size, (page + 1) * size)
      .map(summaryOf);
  }

  private explain(task: FixtureTask): unknown {
    const links = this.batches.get(task.batch_id)!.links.filter((link) => link.child_id === task.id);
    const parents = links.flatMap((link) => {
      const parent = this.findTask(link.parent_id);
      if (parent === undefined || TERMINAL.has(parent.status)) return [];
      return [{ id: parent.id, name: parent.name, status: parent.status, requires_success: link.requires_success }];
    });
    if (parents.length === 0) return { summary: 'It is next in line.', obstacles: [{ type: 'queued', ahead: 0 }] };
    const summary = `It waits for ${parents.length} of ${links.length} parents.`;
    return { summary, obstacles: [{ type: 'parents', parents, total: parents.length }] };
  }

  /** Sends the configured rejection once; returns whether there was one. */
  private refuse(response: ServerResponse): boolean {
    if (this.refusal === null) return false;
    const { status, error, details } = this.refusal;
    this.refusal = null;
    sendProblem(response, status, error, details);
    return true;
  }

  private operate(method: string, path: string, response: ServerResponse): void {
    this.operations.push(`${method} ${path}`);
    const id = path.split('/').find((part) => this.findTask(part) !== undefined);
    const task = this.findTask(id);
    if (task === undefined) {
      sendProblem(response, 404, 'No such task');
      return;
    }
    const now = new Date().toISOString();
    if (method === 'DELETE') this.change(task.batch_id, [task.id], { status: 'Canceled', ended_at: now });
    else if (path.includes('/pause/')) this.change(task.batch_id, [task.id], { status: 'Paused' });
    else this.change(task.batch_id, [task.id], { status: 'Pending', ended_at: null, failure_reason: null });
    sendJson(response, task);
  }

  private stream(batch: FixtureBatch, request: IncomingMessage, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    response.write(': open\n\n');
    const listeners = this.streams.get(batch.id) ?? new Set();
    this.streams.set(batch.id, listeners.add(response));
    request.on('close', () => listeners.delete(response));
    if (batch.ended_at !== null) response.end('event: end\ndata: {}\n\n');
  }

  private findTask(id: string | undefined): FixtureTask | undefined {
    for (const batch of this.batches.values()) {
      const task = batch.tasks.find((one) => one.id === id);
      if (task !== undefined) return task;
    }
    return undefined;
  }
}

function summaryOf(batch: FixtureBatch): unknown {
  return {
    id: batch.id,
    name: batch.name,
    task_count: batch.tasks.length,
    remaining: batch.tasks.filter((task) => !TERMINAL.has(task.status)).length,
    created_at: batch.created_at,
    ended_at: batch.ended_at,
    archived: false,
  };
}

function runOf(batch: FixtureBatch): unknown {
  const count = (...states: string[]): number => batch.tasks.filter(({ status }) => states.includes(status)).length;
  const { id, name, created_at, ended_at } = batch;
  const title = name ?? 'hash';
  const remaining = batch.tasks.filter(({ status }) => !TERMINAL.has(status)).length;
  return {
    ...{ id, type: 'batch', name, title, state: ended_at === null ? 'Running' : 'Succeeded', created_at, ended_at },
    counts: {
      ...{ total: batch.tasks.length, remaining, succeeded: count('Success'), failed: count('Failure') },
      ...{ canceled: count('Canceled'), skipped: 0 },
    },
    ...{ reason: null, failed_task: null, job: null, kinds: ['hash'], started_at: created_at },
  };
}

async function sendFile(response: ServerResponse, name: string): Promise<void> {
  const content = await readFile(join(DIST, normalize(`/${name}`)));
  response.writeHead(200, { 'content-type': CONTENT_TYPES[extname(name)] ?? 'application/octet-stream' }).end(content);
}
