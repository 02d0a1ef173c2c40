import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Answer, PersistentCaller } from './callers.ts';
import type { WorkPlan } from './workload.ts';

/** One attempt of a task as its target saw it. Times are milliseconds since the epoch. */
export interface Run {
  task_id: string;
  attempt: number;
  plan: WorkPlan;
  /** When its start arrived: it had been claimed before. */
  started_at: number;
  /** Just before its end was reported for the first time; the claim was held at least until then. */
  ended_at: number;
  /** When units were reported for the first time, and how many. */
  counted: { at: number; units: number }[];
}

export interface EndSeen {
  task_id: string;
  trigger: string;
  key: string;
}

/** Does the work that start webhooks ask for and reports through their handles; records all of it. */
export class WorkTarget {
  readonly runs = new Map<string, Run>();
  readonly ends: EndSeen[] = [];
  /** Starts that came again with a key that was known. */
  repeatedStarts = 0;
  /** Reports that were refused: none may be. */
  readonly refusals: string[] = [];
  readonly #server: Server;
  readonly #caller: PersistentCaller;
  readonly #refused = new Set<string>();
  readonly #working = new Set<Promise<void>>();

  constructor(caller: PersistentCaller) {
    this.#caller = caller;
    this.#server = createServer((request, response) => {
      void readJson(request).then(
        (body) => this.#receive(request, response, body),
        () => response.destroy(),
      );
    });
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await Promise.allSettled(this.#working);
  }

  #receive(request: IncomingMessage, response: ServerResponse, body: unknown): void {
    const key = String(request.headers['idempotency-key']);
    const task_id = String(request.headers['x-task-id']);
    const url = new URL(request.url!, 'http://target');
    if (url.pathname === '/end') {
      this.ends.push({ task_id, trigger: (body as { trigger: string }).trigger, key });
      // Some ends are not taken at first.
      const refuse = task_id.endsWith('0') && !this.#refused.has(key);
      this.#refused.add(key);
      response.writeHead(refuse ? 500 : 200).end();
      return;
    }
    const handle = new URL(url.searchParams.get('handle')!);
    const plan = body as WorkPlan;
    if (plan.refuses_first && !this.#refused.has(key)) {
      this.#refused.add(key);
      response.writeHead(503).end();
      return;
    }
    if (this.runs.has(key)) {
      this.repeatedStarts += 1;
      response.writeHead(200).end();
      return;
    }
    const attempt = Number(handle.searchParams.get('attempt'));
    const run: Run = { task_id, attempt, plan, started_at: now(), ended_at: Number.POSITIVE_INFINITY, counted: [] };
    this.runs.set(key, run);
    if (!plan.reports_early) response.writeHead(200).end();
    const work = this.#work(run, handle)
      .catch((error: unknown) => void this.refusals.push(String(error)))
      .finally(() => {
        this.#working.delete(work);
        if (plan.reports_early) response.writeHead(200).end();
      });
    this.#working.add(work);
  }

  async #work(run: Run, handle: URL): Promise<void> {
    const { plan, attempt } = run;
    const path = `${handle.pathname}${handle.search}`;
    const half = Math.ceil(plan.units / 2);
    for (const units of [half, plan.units - half].filter((each) => each > 0)) {
      await sleep(plan.work_ms / 2);
      run.counted.push({ at: now(), units });
      const headers = { 'idempotency-key': `${attempt}:${run.counted.length}` };
      this.#expect(202, await this.#caller.call({ method: 'PUT', path, body: { new_success: units }, headers }), run);
    }
    await sleep(plan.work_ms / 2);
    const fails = attempt <= plan.failing_attempts;
    const body = fails ? { status: 'Failure', failure_reason: `attempt ${attempt} fails` } : { status: 'Success' };
    run.ended_at = now();
    const repeatsBefore = this.#caller.repeats;
    const answer = await this.#caller.call({
      method: 'PATCH',
      path,
      body,
      headers: { prefer: 'return=minimal' },
    });
    // A repeat of a failure that was taken already meets the next attempt, and gets that answer.
    const stale = fails && this.#caller.repeats > repeatsBefore && [401, 403, 409].includes(answer.status);
    if (!stale) this.#expect(200, answer, run);
  }

  #expect(status: number, answer: Answer, run: Run): void {
    if (answer.status === status) return;
    this.refusals.push(`${run.task_id} attempt ${run.attempt}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }
}

export function now(): number {
  return performance.timeOrigin + performance.now();
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString()) as unknown;
}
