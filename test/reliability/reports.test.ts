import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';

import { seededRandom, type Random } from '@heddle/base/random';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase, type TestDatabase } from '@heddle/test-support/postgres';
import { auditedTasks, assertSlotsAddUp, leftovers } from '../support/reliability/audit.ts';
import { PersistentCaller, type Answer, type Call } from '../support/reliability/callers.ts';
import { ServerFleet } from '../support/reliability/fleet.ts';
import { groupBy } from '../support/reliability/intervals.ts';

const SEED = Number(process.env['HEDDLE_TEST_SEED'] ?? Date.now() % 1_000_000);
const SERVERS = 3;
const TASKS = 120;
const CONCURRENCY = 24;

/** What a task's target says, each of it twice. */
type Story =
  | 'counts, then success'
  | 'success'
  | 'failure'
  /** Success and failure: whichever comes first holds. */
  | 'both ends'
  /** A failure that a retry answers, with a late success of the first attempt. */
  | 'failure with a retry';
const STORIES: readonly Story[] = ['counts, then success', 'success', 'failure', 'both ends', 'failure with a retry'];

const SUCCESS = { status: 'Success' };
const FAILURE = { status: 'Failure', failure_reason: 'as told' };

interface Sent {
  task: string;
  report: string;
  answer: Answer;
}

describe(`reports that come twice, out of order, to different servers (HEDDLE_TEST_SEED=${SEED})`, () => {
  const random = seededRandom(SEED);
  let test: TestDatabase;
  let fleet: ServerFleet;
  let caller: PersistentCaller;
  let target: Server;
  /** By `NAME/ATTEMPT`. */
  const handles = new Map<string, URL>();
  const ends: { task_id: string; key: string }[] = [];
  const idOf = new Map<string, string>();

  before(async () => {
    test = await createTestDatabase();
    fleet = new ServerFleet(test.url, SEED);
    caller = new PersistentCaller(() => fleet.anyUrl());
    target = createServer((request, response) => {
      const url = new URL(request.url!, 'http://target');
      const handle = url.searchParams.get('handle');
      const task_id = String(request.headers['x-task-id']);
      if (handle === null) ends.push({ task_id, key: String(request.headers['idempotency-key']) });
      else {
        const signed = new URL(handle);
        handles.set(`${url.pathname.slice(1)}/${signed.searchParams.get('attempt')}`, signed);
        idOf.set(url.pathname.slice(1), task_id);
      }
      request.resume();
      response.writeHead(200).end();
    });
    target.listen(0, '127.0.0.1');
    await once(target, 'listening');
    await Promise.all(Array.from({ length: SERVERS }, (_, place) => fleet.start(place)));
  });

  after(async () => {
    await fleet.stop();
    target.closeAllConnections();
    target.close();
    await caller.close();
  });

  const storyOf = (name: string): Story => STORIES[Number(name) % STORIES.length]!;

  async function submit(): Promise<void> {
    const base = `http://127.0.0.1:${(target.address() as AddressInfo).port}`;
    const action = (path: string): object => ({ kind: 'Webhook', params: { url: `${base}/${path}`, verb: 'Post' } });
    const body = Array.from({ length: TASKS }, (_, index) => ({
      name: String(index),
      kind: 'reported',
      on_start: action(String(index)),
      on_success: [action('end')],
      on_failure: [action('end')],
      ...(storyOf(String(index)) === 'failure with a retry'
        ? { retry: { max_attempts: 2, backoff_secs: 0.02, jitter: 0 } }
        : {}),
    }));
    const answer = await caller.call({ method: 'POST', path: '/task', body });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
  }

  function reportsOf(name: string): { report: string; call: Call }[] {
    const handle = handles.get(`${name}/1`)!;
    const path = `${handle.pathname}${handle.search}`;
    const finish = (body: object): Call => ({ method: 'PATCH', path, body, headers: { prefer: 'return=minimal' } });
    const count = (key: string, new_success: number): Call => ({
      method: 'PUT',
      path,
      body: { new_success },
      headers: { 'idempotency-key': key },
    });
    switch (storyOf(name)) {
      case 'counts, then success':
        return [
          { report: 'count 1', call: count('1', 1) },
          { report: 'count 10', call: count('10', 10) },
          { report: 'count 100', call: count('100', 100) },
          { report: 'success', call: finish(SUCCESS) },
        ];
      case 'success':
        return [{ report: 'success', call: finish({ ...SUCCESS, metadata: { merged: true } }) }];
      case 'failure':
        return [{ report: 'failure', call: finish(FAILURE) }];
      case 'both ends':
        return [
          { report: 'success', call: finish(SUCCESS) },
          { report: 'failure', call: finish(FAILURE) },
        ];
      case 'failure with a retry':
        return [{ report: 'failure', call: finish(FAILURE) }];
    }
  }

  let sent: Map<string, Sent[]>;

  it('answers each of them', async () => {
    await submit();
    await eventually(() => handles.size === TASKS, 'all tasks have started');
    const names = Array.from({ length: TASKS }, (_, index) => String(index));
    const reports = names.flatMap((task) => reportsOf(task).map((each) => ({ task, ...each })));
    const order = shuffled([...reports, ...reports], random);
    const answers: Sent[] = [];
    const next = order[Symbol.iterator]();
    const send = async (): Promise<void> => {
      for (const { task, report, call } of next) answers.push({ task, report, answer: await caller.call(call) });
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, send));
    for (const { report, answer } of answers) {
      assert.ok([200, 202, 403, 409].includes(answer.status), `${report}: ${JSON.stringify(answer)}`);
    }
    sent = groupBy(answers, ({ task }) => task);
  });

  it('applied one end of each, and told the others so', () => {
    for (const [task, answers] of sent) {
      const statuses = (report: string): number[] =>
        answers.filter((each) => each.report === report).map(({ answer }) => answer.status);
      switch (storyOf(task)) {
        case 'counts, then success':
        case 'success':
          assert.deepEqual(statuses('success'), [200, 200], `the same end twice is no conflict: task ${task}`);
          break;
        case 'failure':
          assert.deepEqual(statuses('failure'), [200, 200]);
          break;
        case 'both ends': {
          const [success, failure] = [statuses('success'), statuses('failure')];
          const won = success.includes(200);
          assert.deepEqual(won ? success : failure, [200, 200], `task ${task}: ${success.join()} ${failure.join()}`);
          assert.deepEqual(won ? failure : success, [409, 409], `task ${task}: ${success.join()} ${failure.join()}`);
          break;
        }
        case 'failure with a retry':
          assert.equal(statuses('failure').filter((status) => status === 200).length, 1, 'one failure, one retry');
          break;
      }
    }
  });

  it('refuses the first attempt’s handle in the second one, and takes its own', async () => {
    const retried = [...sent.keys()].filter((task) => storyOf(task) === 'failure with a retry');
    await eventually(() => retried.every((task) => handles.has(`${task}/2`)), 'the second attempts have started');
    for (const task of retried) {
      const answers = [];
      for (const attempt of [1, 2, 1, 2]) {
        const { pathname, search } = handles.get(`${task}/${attempt}`)!;
        answers.push(await caller.call({ method: 'PATCH', path: `${pathname}${search}`, body: SUCCESS }));
      }
      const statuses = answers.map(({ status }) => status);
      assert.deepEqual(statuses, [403, 200, 403, 200], JSON.stringify(answers.map(({ body }) => body)));
    }
  });

  it('counted every acknowledged unit once, and told every end under one key', async () => {
    await eventually(async () => (await leftovers(test.database)).length === 0, 'everything has ended');
    const tasks = await auditedTasks(test.database);
    assert.equal(tasks.length, TASKS);
    const byId = new Map(tasks.map((task) => [task.id, task]));
    for (const [name, answers] of sent) {
      const task = byId.get(idOf.get(name)!)!;
      const counted = new Set(answers.filter(({ answer }) => answer.status === 202).map(({ report }) => report));
      const units = [...counted].reduce((sum, report) => sum + Number(report.split(' ')[1]), 0);
      assert.equal(task.success_count, units, `task ${name}: ${[...counted].join(', ')}`);
      const succeeded = answers.some(({ report, answer }) => report === 'success' && answer.status === 200);
      const retried = storyOf(name) === 'failure with a retry';
      assert.equal(task.state, succeeded || retried ? 'succeeded' : 'failed');
      assert.equal(task.attempt, retried ? 2 : 1);
      const keys = new Set(ends.filter(({ task_id }) => task_id === task.id).map(({ key }) => key));
      assert.equal(keys.size, 1, `task ${name}: ${[...keys].join(', ')}`);
    }
    await assertSlotsAddUp(test.database);
  });
});

function shuffled<T>(items: readonly T[], random: Random): T[] {
  const result = [...items];
  for (let last = result.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random.next() * (last + 1));
    [result[last], result[other]] = [result[other]!, result[last]!];
  }
  return result;
}
