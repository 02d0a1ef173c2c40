/**
 * Creates the survey's job on a Heddle that runs the kinds of `kinds.ts`, runs it once, and prints the report: `node
 * examples/repository-survey/start.ts [--url URL] [--token TOKEN] [--root DIRECTORY]`.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { startSurvey, type Heddle } from './run.ts';

const POLL_MS = 500;
const RESULTS_PER_PAGE = 100;

/** An unsuccessful response. */
class Refusal extends Error {
  readonly status: number;

  constructor(status: number, text: string) {
    super(`Heddle responded with ${status}: ${text.slice(0, 500)}`);
    this.name = 'Refusal';
    this.status = status;
  }
}

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: process.env['HEDDLE_URL'] ?? 'http://127.0.0.1:8085' },
    token: { type: 'string', default: process.env['HEDDLE_TOKEN'] ?? '' },
    root: { type: 'string' },
  },
});

async function call<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(`${values.url}${path}`, {
    method,
    headers: {
      ...(values.token === '' ? {} : { authorization: `Bearer ${values.token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Refusal(response.status, await response.text());
  return (await response.json()) as Answer;
}

interface Result {
  task_id: string;
  kind: string;
  data: unknown;
}

async function* readResults(workflowId: string): AsyncGenerator<Result> {
  for (let after = ''; ;) {
    const query = `page_size=${RESULTS_PER_PAGE}${after === '' ? '' : `&after=${after}`}`;
    const page = await call<Result[]>('GET', `/v1/workflows/${workflowId}/results?${query}`);
    yield* page;
    if (page.length < RESULTS_PER_PAGE) return;
    after = page.at(-1)!.task_id;
  }
}

async function ended(workflowId: string): Promise<boolean> {
  try {
    return (await call<{ remaining: number }>('GET', `/v1/workflows/${workflowId}?depth=0`)).remaining === 0;
  } catch (error) {
    // The manager picks it up shortly.
    if (error instanceof Refusal && error.status === 404) return false;
    throw error;
  }
}

const heddle: Heddle = {
  jobs: {
    get: (job) => call('GET', `/v1/jobs/${job}`),
    create: (job) => call('POST', '/v1/jobs', job),
    update: (job, change) => call('PATCH', `/v1/jobs/${job}`, change),
    trigger: (job) => call('POST', `/v1/jobs/${job}/trigger`),
  },
  readResults,
};
const survey = await startSurvey({
  heddle,
  log: { info: (_fields, message) => console.error(message) },
  directory: join(process.env['HEDDLE_DATA_DIR'] ?? '.heddle', 'examples/repository-survey'),
  ...(values.root === undefined ? {} : { root: values.root }),
});
try {
  const id = await survey.trigger();
  console.error(`workflow ${id}: follow it with \`heddle workflow watch ${id}\``);
  while (!(await ended(id))) await sleep(POLL_MS);
  console.log((await survey.report(id)) ?? 'no report');
} finally {
  await survey.close();
}
