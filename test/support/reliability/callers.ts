import { setTimeout as sleep } from 'node:timers/promises';

import { Agent } from 'undici';
import { patience } from '@heddle/test-support/patience';

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: unknown;
}

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
}

/** A client that keeps at it: servers come and go, and what was not answered is sent again, to whichever lives. */
export class PersistentCaller {
  readonly #agent = new Agent({ connections: 64, headersTimeout: 20_000, bodyTimeout: 20_000 });
  readonly #anyUrl: () => string | undefined;
  /** Calls that failed on the way or were answered 503, and were sent again. */
  repeats = 0;

  constructor(anyUrl: () => string | undefined) {
    this.#anyUrl = anyUrl;
  }

  /** One try; rejects where the server did not answer. */
  async once(base: string, { method, path, body, headers = {} }: Call): Promise<Answer> {
    const answer = await this.#agent.request({
      origin: base,
      path,
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.body.text();
    const json = String(answer.headers['content-type']).includes('json');
    return { status: answer.statusCode, headers: answer.headers, body: json ? (JSON.parse(text) as unknown) : text };
  }

  /** Resolves with the first answer that is not a 503 (or a 429); rejects after the deadline. */
  async call(call: Call, deadlineMs = 120_000): Promise<Answer> {
    const deadline = performance.now() + deadlineMs * patience();
    for (;;) {
      const base = this.#anyUrl();
      const answer = base === undefined ? undefined : await this.once(base, call).catch(() => undefined);
      if (answer !== undefined && answer.status !== 503 && answer.status !== 429) return answer;
      if (performance.now() > deadline) throw new Error(`No server answered ${call.method} ${call.path}`);
      this.repeats += 1;
      await sleep(15);
    }
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}
