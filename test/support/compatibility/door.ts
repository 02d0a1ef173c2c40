/** A server as a process of its own, and what stands around it: a target of webhooks, requests by hand. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after } from 'node:test';

import { HeddleProcess, type Environment } from '@heddle/test-support/app/heddle-process';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase } from '@heddle/test-support/postgres';

export type Json = Record<string, unknown>;

export interface Answer {
  status: number;
  headers: Headers;
  json: unknown;
}

export interface Door {
  url: string;
  /** The environment of the server, for commands that work on its database. */
  environment: Environment;
  ask(method: string, path: string, body?: unknown): Promise<Answer>;
  text(path: string): Promise<string>;
}

// Registered here: within a hook, `after` would mean the end of that hook.
const closing: (() => unknown)[] = [];
after(() => Promise.all(closing.map((close) => close())));

/** One of `examples/`, read again for every caller. */
export function example(name: string): unknown {
  return JSON.parse(readFileSync(join(import.meta.dirname, 'examples', name), 'utf8'));
}

/** `heddle server` on a database of its own; ended with the test file. */
export async function openDoor(settings: Environment = {}): Promise<Door> {
  const database = await createTestDatabase();
  const environment = {
    DATABASE_URL: database.url,
    PORT: '0',
    HEDDLE_DATA_DIR: '/nonexistent/heddle',
    SKIP_SSRF_VALIDATION: '1',
    WORKER_LOOP_INTERVAL_MS: '200',
    ...settings,
  };
  const run = new HeddleProcess(['server', '--json'], environment);
  closing.push(() => run.end('SIGTERM'));
  const { url } = await run.ready();
  const send = (method: string, path: string, body?: unknown): Promise<Response> =>
    fetch(`${url}${path}`, {
      method,
      headers: { connection: 'close', ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  return {
    url,
    environment,
    ask: async (method, path, body) => {
      const response = await send(method, path, body);
      const text = await response.text();
      return { status: response.status, headers: response.headers, json: text === '' ? null : JSON.parse(text) };
    },
    text: async (path) => (await send('GET', path)).text(),
  };
}

export interface Call {
  method: string;
  url: URL;
  headers: IncomingHttpHeaders;
  body: unknown;
}

export interface Target {
  url: string;
  calls: Call[];
  /** What the next calls are answered; `{}` at first. */
  answer: unknown;
  /** Waits for the call of a task by its trigger. */
  callOf(task: string, trigger: string): Promise<Call>;
}

/** A web server that notes what it is called with; closed with the test file. */
export async function openTarget(): Promise<Target> {
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const { method = '', headers } = incoming;
      target.calls.push({ method, url: new URL(incoming.url!, target.url), headers, body: text && JSON.parse(text) });
      outgoing.setHeader('content-type', 'application/json').end(JSON.stringify(target.answer));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => server.close());
  const target: Target = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: [],
    answer: {},
    callOf: (task, trigger) =>
      eventually(
        () =>
          target.calls.find(({ headers }) => headers['x-task-id'] === task && headers['x-task-trigger'] === trigger),
        `the call of ${trigger} for ${task}`,
      ),
  };
  return target;
}
