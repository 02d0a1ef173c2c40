/** A webhook target's client for Heddle: plain HTTP, as in any language. */
import { setTimeout as sleep } from 'node:timers/promises';

import type { DagDto } from '@heddle/client';
import type { NewTaskDto } from '@heddle/client';
import type { BasicTaskDto, TaskDto } from '@heddle/client';
import type { ProgressDto, UpdateTaskDto } from '@heddle/client';

/** A response of status 400 or above. */
export class Refusal extends Error {
  readonly status: number;

  constructor(status: number, text: string) {
    super(`Heddle responded with ${status}: ${text.slice(0, 500)}`);
    this.name = 'Refusal';
    this.status = status;
  }
}

export interface ApiOptions {
  url: string;
  token?: string | undefined;
}

const TRIES = 6;
const FIRST_WAIT_MS = 100;

/** One call, retried while the server is unavailable or busy. */
async function call(method: string, url: string, body: unknown, headers: Record<string, string>): Promise<Response> {
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(url, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).catch((error: unknown) => {
      if (attempt === TRIES) throw error;
      return null;
    });
    if (response?.ok === true) return response;
    const passing = response === null || response.status >= 500 || response.status === 429;
    if (!passing || attempt === TRIES) throw new Refusal(response!.status, await response!.text());
    await sleep(FIRST_WAIT_MS * 2 ** (attempt - 1));
  }
}

/** Operations that require a token (on loopback in development, none). */
export class Api {
  readonly #url: string;
  readonly #headers: Record<string, string>;

  constructor({ url, token }: ApiOptions) {
    this.#url = url.replace(/\/+$/, '');
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  }

  /** Creates a batch and returns its id; the same key creates it only once. */
  async submit(tasks: readonly NewTaskDto[], name: string, idempotencyKey: string): Promise<string> {
    const headers = { ...this.#headers, prefer: 'return=minimal', 'idempotency-key': idempotencyKey };
    const url = `${this.#url}/task?batch_name=${encodeURIComponent(name)}`;
    const response = await call('POST', url, tasks, headers);
    return response.headers.get('x-batch-id')!;
  }

  async dag(batchId: string): Promise<DagDto> {
    return (await (await call('GET', `${this.#url}/dag/${batchId}`, undefined, this.#headers)).json()) as DagDto;
  }

  /** The parents of a task, with their metadata. */
  async parents(batchId: string, taskId: string): Promise<BasicTaskDto[]> {
    const { tasks, links } = await this.dag(batchId);
    const ids = new Set(links.filter(({ child_id }) => child_id === taskId).map(({ parent_id }) => parent_id));
    return tasks.filter(({ id }) => ids.has(id));
  }
}

/** Operations allowed by a handle, which is signed and needs no token. */
export class Handle {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** The attempt of the handle. */
  get attempt(): number {
    return Number(new URL(this.#url).searchParams.get('attempt'));
  }

  async task(): Promise<TaskDto> {
    return (await (await call('GET', this.#url, undefined, {})).json()) as TaskDto;
  }

  /** Counts completed work; the key makes a repeated call harmless. */
  async count(progress: ProgressDto, idempotencyKey: string): Promise<void> {
    await call('PUT', this.#url, progress, { 'idempotency-key': idempotencyKey });
  }

  async update(update: UpdateTaskDto): Promise<void> {
    await call('PATCH', this.#url, update, {});
  }
}
