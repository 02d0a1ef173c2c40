import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { eventually } from '@heddle/test-support/eventually';
import { DataDirectory, request } from '@heddle/test-support/app/heddle-process';

const data = new DataDirectory();
after(() => data.dispose());

/** What a killed process was running is retried when its lease has expired. */
const ENVIRONMENT = { HEDDLE_EXAMPLES: '1', HEDDLE_WEBHOOK_TIMEOUT_SECS: '2', WORKER_LEASE_SECS: '5' };
const ENDED_DEADLINE_MS = 180_000;

interface ExampleEvent {
  event: 'example' | 'example_ended';
  workflow_id: string;
  report?: string | null;
}

interface Workflow {
  state: string;
  task_count: number;
  remaining: number;
}

const workflowAt = async (base: string, id: string): Promise<Workflow> =>
  (await request(base, 'GET', `/v1/workflows/${id}?depth=0`)).json as Workflow;

test('an example interrupted by a kill resumes at the next start, and is marked when it has ended', async () => {
  const first = data.up(ENVIRONMENT);
  const { workflow_id } = await first.event<ExampleEvent>('example');
  assert.equal(await first.end('SIGKILL'), null);
  await data.gone();

  const second = data.up(ENVIRONMENT, ['--json']);
  const again = await second.ready();
  if (markedAs(data.path).finished) assert.fail('the kill came too late to cut the example short');
  assert.equal((await second.event<ExampleEvent>('example')).workflow_id, workflow_id);
  const { report } = await second.event<ExampleEvent>('example_ended', ENDED_DEADLINE_MS);
  assert.match(report ?? '', /^found: 16 hosts, 29 services, \d+ names, 7 TLS endpoints, 7 certificates$/m);
  assert.match(report ?? '', /^ {2}shop\.surface\.test .* expired 3 days ago +.*expired/m);
  const { state, task_count } = await workflowAt(again.url, workflow_id);
  assert.equal(state, 'Succeeded');
  assert.ok(task_count > 10, `${task_count} tasks`);
  assert.deepEqual(markedAs(data.path), { workflow_id, finished: true });
  await eventually(async () => {
    const { json } = await request(again.url, 'GET', '/v1/jobs/attack-surface/history');
    const states = (json as Workflow[]).map((run) => run.state);
    return states.length === 1 && states[0] === 'Succeeded';
  }, 'the history of the job knows the end');
  await rescan(again.url);
  assert.equal(await second.end('SIGINT'), 0, second.stderr);
  assert.equal(second.stderr, '', 'the log is in its file');
  const log = readFileSync(join(data.path, 'log'), 'utf8');
  assert.match(log, /"msg":"surface: /);
  assert.doesNotMatch(
    log,
    /"path":"\/v1\/jobs[^}]*"status":404/,
    'nothing is asked for that a first start cannot have',
  );
  await data.gone();

  const third = data.up(ENVIRONMENT);
  const { url: last } = await third.ready();
  await eventually(async () => {
    const job = (await request(last, 'GET', '/v1/jobs/attack-surface')).json as { next_run_at: string | null };
    return job.next_run_at !== null;
  }, 'the job is there');
  assert.equal(
    third.events.some(({ event }) => event === 'example'),
    false,
    'it does not run again',
  );
  assert.equal(await third.end('SIGINT'), 0, third.stderr);
  await data.gone();
});

/** Runs the job again: the network changed a little after the report of the first run. */
async function rescan(base: string): Promise<void> {
  const { json } = await request(base, 'POST', '/v1/jobs/attack-surface/trigger');
  const { workflow_id } = json as { workflow_id: string };
  await eventually(
    async () => {
      const { status, json: workflow } = await request(base, 'GET', `/v1/workflows/${workflow_id}?depth=0`);
      return status === 200 && (workflow as Workflow).remaining === 0;
    },
    'the second run has ended',
    ENDED_DEADLINE_MS,
  );
  assert.equal((await workflowAt(base, workflow_id)).state, 'Succeeded');
  const services = await modelsAt(base, 'service');
  // If its ports are in use it uses others with the same endings.
  const webOf = (host: number) =>
    services.find(({ data: { ip, port } }) => ip === `127.0.10.${host}` && port! % 500 === 80)!;
  assert.deepEqual(
    [9, 16, 17].map((host) => webOf(host).state),
    ['changed', 'gone', 'new'],
  );
  const agent = webOf(9);
  assert.deepEqual(
    agent.changes.map(({ field }) => field),
    ['banner'],
  );
  const certificates = await modelsAt(base, 'certificate');
  const www = certificates.filter(({ data: { subject_cn } }) => subject_cn === 'surface.test');
  assert.deepEqual(www.map(({ state }) => state).sort(), ['gone', 'new'], 'it was renewed');
  const wrong = (await modelsAt(base, 'tls')).filter(({ data: { findings } }) => findings?.includes('mismatched'));
  assert.deepEqual(
    wrong.map(({ data: { ip } }) => ip),
    ['127.0.10.6'],
  );
}

interface Model {
  key: string;
  state: string;
  data: { subject_cn?: string; findings?: string[]; ip?: string; port?: number };
  changes: { field: string }[];
}

async function modelsAt(base: string, model: string): Promise<Model[]> {
  return (await request(base, 'GET', `/v1/models?model=${model}&page_size=100`)).json as Model[];
}

function markedAs(dataDir: string): { workflow_id: string; finished: boolean } {
  return JSON.parse(readFileSync(join(dataDir, 'example.json'), 'utf8')) as { workflow_id: string; finished: boolean };
}
