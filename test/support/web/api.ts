/** What tests send to a server, as any client would. */
import assert from 'node:assert/strict';

interface Claimed {
  id: string;
  attempt: number;
}

export class Api {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  async send<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    const headers = { 'content-type': 'application/json' };
    const init = body === undefined ? { method } : { method, headers, body: JSON.stringify(body) };
    const response = await fetch(`${this.url}${path}`, init);
    const text = await response.text();
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text.slice(0, 500)}`);
    return (text === '' ? null : JSON.parse(text)) as Answer;
  }

  get<Answer>(path: string): Promise<Answer> {
    return this.send('GET', path);
  }

  post<Answer>(path: string, body?: unknown): Promise<Answer> {
    return this.send('POST', path, body);
  }

  /** Claims tasks of a kind that may run, as a worker does; waits for the first one. */
  async claim(kind: string): Promise<Claimed[]> {
    const body = { kinds: [kind], max: 10, lease_secs: 600, wait_secs: 20 };
    return (await this.post<{ tasks: Claimed[] }>('/v1/work/claim', body)).tasks;
  }

  /** Claims the one task of a kind that may run. */
  async claimOne(kind: string): Promise<Claimed> {
    const tasks = await this.claim(kind);
    assert.equal(tasks.length, 1, `one task of the kind ${kind}`);
    return tasks[0]!;
  }

  /** Claims the tasks of a kind that may run; each logs a line and fails. */
  async failAll(kind: string, reason: string, line = 'about to fail'): Promise<void> {
    for (const { id, attempt } of await this.claim(kind)) {
      await this.post(`/v1/work/${id}/logs`, { attempt, first_line: 0, lines: [{ text: line }] });
      await this.post(`/v1/work/${id}/fail`, { attempt, reason });
    }
  }

  async statusOf(id: string): Promise<string> {
    return (await this.get<{ status: string }>(`/task/${id}`)).status;
  }
}
