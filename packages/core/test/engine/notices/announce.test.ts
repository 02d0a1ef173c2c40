import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { JsonObject, JsonValue } from '@heddle/base/json';
import type { Outcome } from '@heddle/base/vocabulary/task-state';
import type { Delivery } from '../../../src/engine/port.ts';
import { putCollectionData } from '../../../src/store/collection-data.ts';
import type { Statement } from '../../../src/store/database.ts';
import { createJobs } from '../../../src/engine/schedule/jobs.ts';
import {
  benchOn,
  feed,
  MANAGER_QUEUE,
  newBench,
  newId,
  run,
  type Bench,
} from '@heddle/test-support/engine/manager/fixture';

const HOOK = 'https://hooks.example.com/heddle';
const WEBHOOK = { webhook: { url: HOOK } };
const CLAIM = { holder: 'test', limit: 1000, limit_per_origin: 1000, saturated_origins: [], lease_ms: 60_000 };
const COUNT_NOTICES: Statement = {
  name: 'test.count_notices',
  text: `select count(*)::integer as n from delivery where trigger = 'notify'`,
};

/** A sequence of two tasks that notifies when it ends. */
function workflow(id: string, notify: JsonValue, extra: JsonObject = {}): JsonObject {
  const children = [
    { id: 'first', kind: 'work', input: { place: 'first' } },
    { id: 'second', kind: 'work' },
  ];
  return {
    type: 'CreateTaskCollection',
    collection: { name: 'survey', root: { id, mode: 'sequential', children, ...extra }, notify },
  };
}

/** Runs the next ready task to this end. */
async function end({ engine }: Pick<Bench, 'engine'>, outcome: Outcome, result?: JsonValue): Promise<void> {
  const [task] = await engine.claim({ lanes: ['kind:work'], limit: 1, holder: 'test' });
  const reason = outcome === 'succeeded' ? {} : { reason: 'no route to host' };
  await engine.report([
    { task_id: task!.id, attempt: task!.attempt, outcome, ...reason, ...(result === undefined ? {} : { result }) },
  ]);
}

async function notices({ engine }: Pick<Bench, 'engine'>): Promise<Delivery[]> {
  return (await engine.claimDeliveries(CLAIM)).sort((a, b) => a.ordinal - b.ordinal);
}

function bodyOf(delivery: Delivery | undefined): JsonObject {
  assert.ok(delivery !== undefined && 'params' in delivery.action);
  return delivery.action.params.body as JsonObject;
}

describe('the end of a workflow', () => {
  it('falls back to the default message where nothing else is asked for, with the workflow as subject', async () => {
    const bench = await newBench();
    const id = newId();
    await feed(bench.manager, workflow(id, [{ to: WEBHOOK }]));
    await end(bench, 'failed');
    await feed(bench.manager);
    const [notice, ...others] = await notices(bench);
    assert.deepEqual(others, []);
    assert.deepEqual([notice!.task_id, notice!.workflow_id, notice!.trigger], [id, id, 'notify']);
    assert.equal(notice!.idempotency_key, `${id}:end`);
    assert.equal(notice!.origin, 'https://hooks.example.com');
    const body = bodyOf(notice);
    assert.equal(body['type'], 'workflow.failed');
    const data = body['data'] as JsonObject;
    assert.equal(data['title'], 'Workflow survey failed');
    assert.match(data['text'] as string, /"first" .* failed\nTasks: 1 failed, 1 disabled\.$/);
    const facts = data['workflow'] as JsonObject;
    assert.deepEqual(facts['counts'], {
      succeeded: 0,
      failed: 1,
      timed_out: 0,
      partially_failed: 0,
      canceled: 0,
      disabled: 1,
    });
  });

  it('is announced for the requested outcomes; without any, for unsuccessful ones', async () => {
    const bench = await newBench();
    const told = ['Succeeded'];
    const good = newId();
    await feed(bench.manager, workflow(good, [{ on: told, to: { slack: { url: HOOK } } }, { to: WEBHOOK }]));
    await end(bench, 'succeeded');
    await end(bench, 'succeeded');
    await feed(bench.manager);
    const [notice, ...others] = await notices(bench);
    assert.deepEqual(others, []);
    assert.equal('channel' in notice!.action && notice!.action.channel, 'slack');
    assert.equal(bodyOf(notice)['text'], '*Workflow survey succeeded*\nTasks: 2 succeeded.');
  });

  it('renders templates with results, and keeps values whole in a payload', async () => {
    const bench = await newBench();
    const entry = {
      on: ['Succeeded'],
      to: WEBHOOK,
      title: '{{ workflow.name }}: {{ nodes.first.result.hosts.size() }} hosts',
      payload: { hosts: { $expr: 'nodes.first.result.hosts' }, line: 'state {{ nodes.second.state }}', n: 1 },
    };
    const email = {
      on: ['Succeeded'],
      to: { email: { to: ['a@example.com', 'b@example.com'], subject: 'hosts: {{ nodes.first.result.hosts[0] }}' } },
      text: 'Found {{ nodes.first.result.hosts }}.',
    };
    await feed(bench.manager, workflow(newId(), [entry, email]));
    await end(bench, 'succeeded', { hosts: ['10.0.0.1', '10.0.0.2'] });
    await end(bench, 'succeeded');
    await feed(bench.manager);
    const [webhook, first, second, ...others] = await notices(bench);
    assert.deepEqual(others, []);
    assert.deepEqual(bodyOf(webhook), { hosts: ['10.0.0.1', '10.0.0.2'], line: 'state Succeeded', n: 1 });
    const mails = [first, second].map((each) =>
      each !== undefined && 'mail' in each.action ? each.action.mail : null,
    );
    assert.deepEqual(
      mails.map((mail) => mail!.recipient),
      ['a@example.com', 'b@example.com'],
    );
    assert.equal(mails[0]!.subject, 'hosts: 10.0.0.1');
    assert.match(mails[0]!.text, /^Found \["10\.0\.0\.1","10\.0\.0\.2"\]\.\n\n-- \nHeddle: workflow survey \(/);
    assert.equal(new Set([webhook, first, second].map((each) => each!.idempotency_key)).size, 3);
  });

  it('falls back to the default message where a template fails', async () => {
    const bench = await newBench();
    await feed(bench.manager, workflow(newId(), [{ to: WEBHOOK, text: '{{ nodes.second.result.none }}' }]));
    await end(bench, 'failed');
    await feed(bench.manager);
    const [notice] = await notices(bench);
    const text = (bodyOf(notice)['data'] as JsonObject)['text'] as string;
    assert.match(text, /Tasks: 1 failed, 1 disabled\./);
    assert.match(text, /The template of this notification failed: text: .*nodes\.second\.result\.none/);
  });

  it('is read once per set of announcements', async () => {
    const bench = await newBench();
    const line = 'state {{ nodes.first.state }}, {{ nodes.first.result.of }}';
    const notify = [
      { on: ['Succeeded'], to: WEBHOOK, payload: line },
      { on: ['Succeeded'], to: { email: { to: ['a@example.com', 'b@example.com'] } }, text: line },
      { on: ['Succeeded'], to: WEBHOOK, payload: 'second {{ nodes.second.state }}' },
    ];
    const ids = Array.from({ length: 90 }, () => newId());
    await feed(bench.manager, ...ids.map((id) => workflow(id, notify)));
    const tasks = await bench.engine.claim({ lanes: ['kind:work'], limit: 1000, holder: 'test' });
    await bench.engine.report(
      tasks.map(({ id: task_id, workflow_id }) => {
        const result = { of: workflow_id };
        return { task_id, attempt: 1, outcome: 'succeeded' as const, result };
      }),
    );
    const rest = await bench.engine.claim({ lanes: ['kind:work'], limit: 1000, holder: 'test' });
    await bench.engine.report(rest.map(({ id: task_id }) => ({ task_id, attempt: 1, outcome: 'succeeded' as const })));
    const statements: string[] = [];
    const original = bench.database.query.bind(bench.database);
    bench.database.query = (statement: Statement, values?: readonly unknown[]) => {
      if (statement.name.startsWith('notices.')) statements.push(statement.name);
      return original(statement, values as never) as never;
    };
    assert.equal(await bench.engine.announceEnds(ids), 4 * ids.length);
    assert.deepEqual(statements, ['notices.take_ends', 'notices.read_for_templates', 'notices.write', 'notices.write']);
    const told = await notices(bench);
    for (const id of ids) {
      const own = told.filter(({ workflow_id }) => workflow_id === id);
      assert.deepEqual(
        own.map(({ ordinal }) => ordinal),
        [0, 1, 2, 3],
      );
      assert.deepEqual(bodyOf(own[0]), `state Succeeded, ${id}`);
      const { action } = own[2]!;
      assert.ok('mail' in action && action.mail.text.startsWith(`state Succeeded, ${id}\n`));
      assert.deepEqual(bodyOf(own[3]), 'second Succeeded');
    }
  });

  it('falls back to the default message where a template reads too much, and to the others as they asked', async () => {
    const bench = await newBench();
    const id = newId();
    const notify = [
      { on: ['Succeeded'], to: WEBHOOK, text: '{{ size(data.large) }}' },
      { on: ['Succeeded'], to: WEBHOOK, payload: 'first: {{ nodes.first.state }}' },
    ];
    await feed(bench.manager, workflow(id, notify));
    const part = { workflow_id: id, name: 'large', attempt: 1, list: true, data: ['x'.repeat(1_000_000)] };
    for (let n = 0; n < 9; n += 1) await putCollectionData(bench.database, { ...part, task_id: newId() }, null);
    await end(bench, 'succeeded');
    await end(bench, 'succeeded');
    await feed(bench.manager);
    const [plain, second, ...others] = await notices(bench);
    assert.deepEqual(others, []);
    const text = (bodyOf(plain)['data'] as JsonObject)['text'] as string;
    assert.match(
      text,
      /Tasks: 2 succeeded\.[^]* failed: what it reads is too large: data\.large \(90\d{5} bytes\); at most 8388608/,
    );
    assert.deepEqual(bodyOf(second), 'first: Succeeded');
  });

  it('is not told twice, however often it is finalized and by however many managers at once', async () => {
    const bench = await newBench();
    const ids = Array.from({ length: 20 }, () => newId());
    await feed(bench.manager, ...ids.map((id) => workflow(id, [{ to: WEBHOOK }])));
    for (const _ of ids) await end(bench, 'failed');
    const managers = [bench.manager, ...Array.from({ length: 3 }, () => benchOn(bench.database).manager)];
    await Promise.all(managers.map((manager) => run(manager)));
    const again: Statement = {
      name: 'test.finalize_again',
      text: `insert into finalization (workflow_id, created_at) select id, now() from workflow on conflict do nothing`,
    };
    for (let round = 0; round < 3; round += 1) {
      await bench.database.query(again);
      await Promise.all(managers.map((manager) => run(manager)));
    }
    const [row] = await bench.database.query<{ n: number }>(COUNT_NOTICES);
    assert.equal(row!.n, ids.length);
  });

  it('is announced again after a retry', async () => {
    const bench = await newBench();
    const id = newId();
    await feed(bench.manager, workflow(id, [{ to: WEBHOOK }]));
    await end(bench, 'failed');
    await feed(bench.manager);
    await bench.engine.retryWorkflow(id);
    await end(bench, 'succeeded');
    await end(bench, 'failed');
    await feed(bench.manager);
    const told = await notices(bench);
    assert.deepEqual(told.map(({ idempotency_key }) => idempotency_key).sort(), [`${id}:end`, `${id}:end:run-2`]);
    assert.equal(((bodyOf(told[1])['data'] as JsonObject)['workflow'] as JsonObject)['run'], 2);
    await bench.engine.retryWorkflow(id);
    await end(bench, 'succeeded');
    await feed(bench.manager);
    assert.deepEqual(await notices(bench), [], 'a good end is not asked for');
  });

  it('is announced for the runs of a job, too', async () => {
    const bench = await newBench();
    const jobs = createJobs(bench.jobs);
    const { collection } = workflow(newId(), [{ to: WEBHOOK }]) as { collection: JsonObject };
    const { id: _, ...root } = collection['root'] as JsonObject;
    const job = { name: 'nightly', cron: '0 0 1 1 *', time_zone: 'UTC', recurrence: null, paused: false } as const;
    await assert.rejects(
      jobs.create({
        ...job,
        overlap: 'skip',
        catch_up: 'skip',
        workflow: { root, notify: [{ to: WEBHOOK, text: '{{ }}' }] },
      }),
      (error: { details: string[] }) => /^workflow\.notify\[0\]\.text: /.test(error.details[0]!),
    );
    const definition = { root, notify: [{ to: WEBHOOK }] };
    await jobs.create({ ...job, overlap: 'skip', catch_up: 'skip', workflow: definition });
    const started = await jobs.trigger('nightly');
    const messages = await bench.queue.receive(MANAGER_QUEUE, { max: 10, wait_ms: 0, visibility_ms: 60_000 });
    await bench.manager.run(messages, Date.now());
    await end(bench, 'failed');
    await feed(bench.manager);
    const [notice] = await notices(bench);
    const facts = (bodyOf(notice)['data'] as JsonObject)['workflow'] as JsonObject;
    assert.deepEqual([facts['name'], facts['job_run_id']], ['nightly', started!.id]);
  });

  it('is announced again if the workflow came back from the archive, and deleted with it', async () => {
    const bench = await newBench();
    const id = newId();
    const { engine } = benchOn(bench.database, { archiveAfterMs: 0, deleteAfterMs: 0 });
    await feed(bench.manager, workflow(id, [{ to: WEBHOOK }]));
    await end(bench, 'failed');
    await feed(bench.manager);
    const [first] = await notices(bench);
    assert.equal((await engine.retain(100)).archived, 0, 'a notice that is under way keeps its workflow');
    await engine.settleDeliveries([{ id: first!.id, tries: first!.tries, outcome: 'delivered', status: 200 }]);
    const archived = await benchOn(bench.database, { archiveAfterMs: 0 }).engine.retain(100);
    assert.equal(archived.archived, 2);
    assert.deepEqual(await engine.listDeliveries({ offset: 0, limit: 10 }), []);
    await engine.retryWorkflow(id);
    await end(bench, 'failed');
    await feed(bench.manager);
    const [second] = await notices(bench);
    assert.equal(second!.idempotency_key, `${id}:end:run-2`);
    await engine.settleDeliveries([{ id: second!.id, tries: 1, outcome: 'dead', status: 404, error: 'gone' }]);
    await engine.retain(100);
    await engine.retain(100);
    const left: Statement = { name: 'test.left', text: 'select workflow_id from workflow_notice' };
    assert.deepEqual(await bench.database.query(left), []);
    assert.deepEqual(await engine.listDeliveries({ offset: 0, limit: 10 }), []);
  });

  it('wakes those who deliver', async () => {
    const bench = await newBench();
    await feed(bench.manager, workflow(newId(), [{ to: WEBHOOK }]));
    const woken = new Promise<void>((resolve) => bench.engine.onDeliveryDue(resolve));
    await end(bench, 'failed');
    await feed(bench.manager);
    await woken;
  });

  it('is asked for in messages that are refused alone where a template does not compile', async () => {
    const bench = await newBench();
    const result = await run(
      bench.manager,
      workflow(newId(), [{ to: WEBHOOK, text: '{{ nodes. }}' }]),
      workflow(newId(), [{ to: WEBHOOK, text: 'fine' }]),
    );
    assert.equal(result.deadLettered.length, 1);
    assert.match(result.deadLettered[0]!.reason, /notify\[0\]\.text: /);
    assert.equal((await bench.engine.listWorkflows({ offset: 0, limit: 10 })).workflows.length, 1);
  });
});
