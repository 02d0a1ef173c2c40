import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { JsonObject } from '@heddle/base/json';
import type { ReceivedMessage } from '../../../src/queue/port.ts';
import { CrashingDatabase } from '@heddle/test-support/reliability/crashing-database';
import { openTestDatabase } from '@heddle/test-support/postgres';
import {
  MANAGER_QUEUE,
  benchOn,
  collection,
  completion,
  feed,
  message,
  newBench,
  newId,
  run,
  started,
  workerSeen,
  type Bench,
} from '@heddle/test-support/engine/manager/fixture';

const COUNT_INBOX = { name: 'test.count_inbox', text: 'select count(*) as n from inbox' };

async function inboxSize({ database }: Pick<Bench, 'database'>): Promise<number> {
  return (await database.query<{ n: number }>(COUNT_INBOX))[0]!.n;
}

/** A workflow of one generator beside a container for what it makes; returns the generator's StartTask. */
async function startGenerator({ manager, queue }: Bench, root: string, containers: JsonObject[] = []) {
  await feed(
    manager,
    workerSeen('MakeGenerator', 'made'),
    collection({
      id: root,
      mode: 'parallel',
      children: [{ id: 'gen', kind: 'MakeGenerator' }, { id: 'fan', mode: 'parallel', children: [] }, ...containers],
    }),
  );
  return (await started(queue, 'MakeGenerator'))[0]!;
}

function creation(generator: string, id: string, parent_id: string | null = 'fan'): JsonObject {
  return { type: 'CreateTask', task: { id, kind: 'made' }, generator_id: generator, parent_id };
}

async function outcomes({ metrics }: Bench): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { labels, value } of (await metrics.managerMessages.get()).values) {
    if (value > 0) counts[`${labels.type} ${labels.outcome}`] = value;
  }
  return counts;
}

describe('a run of the manager', () => {
  it('keeps the trace that a workflow belongs to, and no malformed one', async () => {
    const { manager, engine } = await newBench();
    const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const [traced, malformed] = [newId(), newId()];
    const of = (id: string, traceparent: string): JsonObject =>
      collection({ id, mode: 'parallel', children: [{ kind: 'one' }] }, { traceparent });
    assert.deepEqual((await run(manager, of(traced, trace), of(malformed, 'nonsense'))).deadLettered, []);
    const claimed = await engine.claim({ lanes: ['kind:one'], limit: 2, holder: 'a test', traced: true });
    const traceOf = new Map(claimed.map(({ workflow_id, traceparent }) => [workflow_id, traceparent]));
    assert.deepEqual([traceOf.get(traced), traceOf.get(malformed)], [trace, undefined]);
  });

  it('takes a workflow from its message to completion, one step after the other', async () => {
    const bench = await newBench();
    const { manager, queue, engine } = bench;
    const id = newId();
    const stored = await feed(
      manager,
      workerSeen('one', 'two'),
      collection({ id, mode: 'sequential', children: [{ kind: 'one', input: { n: 1 } }, { kind: 'two' }] }),
    );
    assert.deepEqual([stored.failed, stored.deadLettered, stored.dispatched, stored.error], [[], [], 1, null]);
    const [first] = await started(queue, 'one');
    assert.equal(first!.root_container_id, id);
    assert.deepEqual(first!.task.input, { n: 1 });
    assert.deepEqual(await started(queue, 'two'), []);

    assert.equal((await run(manager, completion(first!, { data: { found: 3 } }))).dispatched, 1);
    const [second] = await started(queue, 'two');
    const beat = { type: 'HeartbeatTask', task_id: second!.task.id, attempt: 1 };
    const ended = await run(manager, beat, completion(second!));
    assert.equal(ended.finalized, 1);
    assert.equal((await engine.getWorkflow(id))?.root_state, 'succeeded');
    const results = await engine.readResults({ workflow_id: id }, null, 10);
    assert.deepEqual(
      results.map(({ data }) => data),
      [{ found: 3 }],
    );
    assert.deepEqual(await outcomes(bench), {
      'WorkerSeen applied': 1,
      'CreateTaskCollection applied': 1,
      'CompleteTask applied': 2,
      'HeartbeatTask applied': 1,
    });
  });

  for (const state of ['Succeeded', 'PendingTaskCreation']) {
    it(`fans out: a generator that reports ${state} ends when its nodes exist, also where its own end came first`, async () => {
      const bench = await newBench();
      const { manager, queue, engine } = bench;
      const root = newId();
      const generator = await startGenerator(bench, root);
      await feed(manager, completion(generator, { state, expected_task_count: 2 }));
      assert.equal((await engine.getTask(generator.task.id))?.state, 'expanding');
      const [one, two] = [newId(), newId()];
      await feed(manager, creation(generator.task.id, one));
      assert.equal((await engine.getTask(generator.task.id))?.state, 'expanding');
      // Without upkeep, as receivers run it: the batch itself says that a generator may be through.
      await manager.run([message(creation(generator.task.id, two))], Date.now(), { upkeep: false });
      assert.equal((await engine.getTask(generator.task.id))?.state, 'succeeded');
      const made = await started(queue, 'made');
      assert.deepEqual(made.map(({ task }) => task.id).sort(), [one, two].sort());
      await feed(manager, ...made.map((start) => completion(start)));
      assert.equal((await engine.getWorkflow(root))?.root_state, 'succeeded');
    });
  }
});

describe('what is known of a generator', () => {
  it('names the nodes that came, nested ones not, and the dead letters of those that did not', async () => {
    const bench = await newBench();
    const { manager, queue, engine } = bench;
    const generator = await startGenerator(bench, newId());
    const id = generator.task.id;
    const explained = async () => (await engine.explain(id))?.expansion;
    assert.equal(await explained(), null);
    const [one, group, refused] = [newId(), newId(), newId()];
    const container = { id: group, mode: 'parallel', children: [{ kind: 'made' }, { kind: 'made' }] };
    await feed(manager, creation(id, one), { ...creation(id, group), task: container });
    assert.deepEqual(await explained(), {
      expected: null,
      created: 2,
      missing: null,
      created_ids: [one, group],
      dead_letters: [],
    });
    await feed(manager, completion(generator, { expected_task_count: 4 }));
    const wrong = { ...creation(id, refused), task: { id: refused, kind: '' } };
    await queue.send(MANAGER_QUEUE, [{ body: JSON.stringify(wrong) }, { body: `not JSON, of ${id}` }]);
    const letters = await queue.receive(MANAGER_QUEUE, { max: 10, wait_ms: 0, visibility_ms: 60_000 });
    await queue.deadLetter(
      MANAGER_QUEUE,
      letters.map(({ receipt }) => ({ receipt, reason: 'task.kind: must not be empty' })),
    );
    const expected = {
      expected: 4,
      created: 2,
      missing: 2,
      created_ids: [one, group],
      dead_letters: [{ id: refused, reason: 'task.kind: must not be empty' }],
    };
    assert.deepEqual(await explained(), expected);
    await engine.cancel([id]);
    assert.deepEqual(await explained(), expected);
  });
});

describe('a message that cannot be handled', () => {
  it('is dead-lettered with the reason where it cannot be read, and the others go through', async () => {
    const bench = await newBench();
    const id = newId();
    const bad = ['{', '[]', '{"type":"Unheard"}', JSON.stringify({ type: 'CompleteTask', task_id: 'x' })].map((body) =>
      message(body),
    );
    const good = message(collection({ id, mode: 'parallel', children: [{ kind: 'one' }] }));
    const { failed, deadLettered } = await bench.manager.run([bad[0]!, bad[1]!, good, bad[2]!, bad[3]!], Date.now());
    assert.deepEqual(failed, []);
    assert.deepEqual(
      deadLettered.map((letter) => letter.id),
      bad.map((letter) => letter.id),
    );
    assert.match(deadLettered[0]!.reason, /^the body is not valid JSON/);
    assert.match(deadLettered[2]!.reason, /^type: must be/);
    assert.match(deadLettered[3]!.reason, /task_id: must be a UUID/);
    assert.equal((await bench.engine.getWorkflow(id))?.task_count, 1);
    assert.equal((await outcomes(bench))['unknown dead_lettered'], 4);
  });

  it('is found among a set that the database refuses because of it, and no other suffers', async () => {
    const bench = await newBench();
    const taken = newId();
    const ids = Array.from({ length: 9 }, () => newId());
    await feed(bench.manager, collection({ mode: 'parallel', children: [{ id: taken, kind: 'one' }] }));
    const messages = ids.map((id, index) =>
      message(collection({ id, mode: 'parallel', children: [{ id: index === 5 ? taken : newId(), kind: 'one' }] })),
    );
    const { failed, deadLettered } = await bench.manager.run(messages, Date.now());
    assert.deepEqual(failed, []);
    assert.deepEqual(
      deadLettered.map(({ id }) => id),
      [messages[5]!.id],
    );
    for (const [index, id] of ids.entries()) {
      assert.equal((await bench.engine.getWorkflow(id))?.task_count, index === 5 ? undefined : 1, `workflow ${index}`);
    }
  });

  it('is redelivered while the reason is unknown, and finally dead-lettered', async () => {
    const broken = (): Promise<never> => Promise.reject(new Error('a defect'));
    const bench = await newBench({}, (inner) => {
      return new CrashingDatabase(inner, { statement: 'trees.insert_workflows', call: 1, when: 'before' }, broken);
    });
    const letter = (receive_count: number): ReceivedMessage =>
      message(collection({ mode: 'parallel', children: [{ kind: 'one' }] }), { receive_count });
    const first = letter(1);
    assert.deepEqual((await bench.manager.run([first], Date.now())).failed, [first.id]);
    // What was rolled back is not remembered: the same message has its effect now.
    assert.deepEqual((await bench.manager.run([first], Date.now())).failed, []);
    assert.equal((await bench.engine.listWorkflows({ offset: 0, limit: 9 })).workflows.length, 1);

    const hopeless = await newBench({}, (inner) => {
      return new CrashingDatabase(inner, { statement: 'trees.insert_workflows', call: 1, when: 'before' }, broken);
    });
    const last = letter(10);
    const { failed, deadLettered } = await hopeless.manager.run([last], Date.now());
    assert.deepEqual(
      [failed, deadLettered],
      [[], [{ id: last.id, reason: 'failed 10 times, the last time so: a defect' }]],
    );
  });

  it('waits for the container that it names, and can be redriven once it was abandoned', async () => {
    const bench = await newBench();
    const generator = (await startGenerator(bench, newId())).task.id;
    const late = message(creation(generator, newId(), 'later'));
    assert.deepEqual((await bench.manager.run([late], Date.now())).failed, [late.id]);
    const givenUp = await bench.manager.run([{ ...late, receive_count: 10 }], Date.now());
    assert.match(givenUp.deadLettered[0]!.reason, /has no container later/);
    const container = {
      type: 'CreateTask',
      task: { id: 'later', mode: 'parallel', children: [] },
      generator_id: generator,
    };
    await feed(bench.manager, { ...container, parent_id: 'fan' });
    assert.deepEqual((await bench.manager.run([late], Date.now())).failed, []);
    assert.equal((await started(bench.queue, 'made')).length, 1);
  });

  it('is redelivered where the queue handed it out twice at once', async () => {
    const bench = await newBench();
    const start = await startGenerator(bench, newId());
    const child = newId();
    const late = message(creation(start.task.id, child, newId()));
    const copies = [late, { ...late, receipt: newId() }];
    assert.deepEqual((await bench.manager.run(copies, Date.now())).failed, [late.id]);
    const dying = copies.map((copy) => ({ ...copy, receive_count: 10 }));
    assert.deepEqual(
      (await bench.manager.run(dying, Date.now())).deadLettered.map(({ id }) => id),
      [late.id],
    );
  });

  it('is dead-lettered where what it speaks of has ended or never was', async () => {
    const bench = await newBench();
    const generator = await startGenerator(bench, newId());
    await feed(bench.manager, completion(generator));
    const child = creation(generator.task.id, newId());
    const { deadLettered } = await run(bench.manager, child, {
      type: 'CompleteTask',
      task_id: newId(),
      state: 'Failed',
    });
    assert.equal(deadLettered.length, 2);
    assert.match(deadLettered[0]!.reason, /only a running generator may create nodes/);
    assert.match(deadLettered[1]!.reason, /^there is no task/);
    assert.equal(await inboxSize(bench), 2, 'dead letters are not remembered');
  });

  it('waits in the queue, like all others, while the database is away', async () => {
    const away = openTestDatabase('postgres://nobody@127.0.0.1:1/none', { acquireRetries: 0, acquireTimeoutMs: 2_000 });
    const { manager } = benchOn(away);
    const good = message(workerSeen('one'), { receive_count: 50 });
    const bad = message('{');
    const result = await manager.run([good, bad], Date.now());
    await away.close();
    assert.deepEqual(result.failed, [good.id]);
    assert.deepEqual(
      result.deadLettered.map(({ id }) => id),
      [bad.id],
    );
    assert.match(result.error!.message, /cannot be reached/);
  });
});

describe('a message that is delivered again', () => {
  it('has no second effect: a failure without an attempt does not end the attempt after it', async () => {
    const { manager, queue, engine } = await newBench();
    const retry = { max_attempts: 5, backoff_secs: 0 };
    await feed(
      manager,
      workerSeen('flaky'),
      collection({ id: newId(), mode: 'parallel', children: [{ kind: 'flaky', retry }] }),
    );
    const [first] = await started(queue, 'flaky');
    const { attempt: _, ...failure } = completion(first!, { state: 'Failed', reason: 'for now' });
    const delivered = message(failure);
    const sentTwice = { ...failure, message_id: 'failure of the first attempt' };
    await manager.run([delivered], Date.now());
    await engine.sweep();
    await manager.run([], Date.now());
    const [second] = await started(queue, 'flaky');
    assert.equal(second!.task.attempt, 2);
    await manager.run([{ ...delivered, receive_count: 2 }], Date.now());
    assert.equal((await engine.getTask(second!.task.id))?.state, 'claimed');
    assert.equal((await engine.getTask(second!.task.id))?.attempt, 2);

    // Of two that their sender gave one name, in one batch and later, one counts.
    await feed(manager, sentTwice, sentTwice);
    await engine.sweep();
    await manager.run([], Date.now());
    assert.equal((await started(queue, 'flaky'))[0]?.task.attempt, 3);
    await feed(manager, sentTwice);
    assert.equal((await engine.getTask(second!.task.id))?.state, 'claimed');
  });

  it('counts the units of a heartbeat once, and does not remember heartbeats without any', async () => {
    const bench = await newBench();
    await feed(bench.manager, workerSeen('count'), collection({ mode: 'parallel', children: [{ kind: 'count' }] }));
    const { task } = (await started(bench.queue, 'count'))[0]!;
    const before = await inboxSize(bench);
    const beat = { type: 'HeartbeatTask', task_id: task.id, attempt: 1 };
    await run(bench.manager, beat, beat);
    assert.equal(await inboxSize(bench), before);
    const counted = message({ ...beat, new_success: 3, new_failures: 1 });
    await bench.manager.run([counted, message(beat)], Date.now());
    await bench.manager.run([counted], Date.now());
    const { success_count, failure_count } = (await bench.engine.getTask(task.id))!;
    assert.deepEqual([success_count, failure_count], [3, 1]);
  });

  it('makes no second workflow of one that names no ids', async () => {
    const { manager, engine } = await newBench();
    const letter = message(collection({ mode: 'parallel', children: [{ kind: 'one' }] }));
    for (const receive_count of [1, 2, 3]) await manager.run([{ ...letter, receive_count }], Date.now());
    assert.equal((await engine.listWorkflows({ offset: 0, limit: 9 })).workflows.length, 1);
  });

  it('is forgotten in time, in bounded sets', async () => {
    const bench = await newBench();
    for (let sent = 0; sent < 5; sent += 1) {
      await bench.manager.run([message(collection({ mode: 'parallel', children: [{ kind: 'one' }] }))], sent * 1_000);
    }
    assert.equal(await bench.manager.forgetMessages(3_500, 3), 3);
    assert.equal(await bench.manager.forgetMessages(3_500, 3), 1);
    assert.equal(await bench.manager.forgetMessages(3_500, 3), 0);
    assert.equal(await inboxSize(bench), 1);
  });
});

describe('the end of a task', () => {
  it('is refused where it comes too late, and nothing more', async () => {
    const bench = await newBench();
    await feed(bench.manager, workerSeen('one'), collection({ mode: 'parallel', children: [{ kind: 'one' }] }));
    const [start] = await started(bench.queue, 'one');
    await feed(bench.manager, completion(start!));
    const { failed, deadLettered } = await run(
      bench.manager,
      completion(start!),
      completion(start!, { state: 'Failed' }),
      completion(start!, { attempt: 7 }),
      { type: 'HeartbeatTask', task_id: start!.task.id, attempt: 1 },
    );
    assert.deepEqual([failed, deadLettered], [[], []]);
    const { 'CompleteTask applied': applied, 'CompleteTask repeated': repeated, ...others } = await outcomes(bench);
    assert.deepEqual([applied, repeated, others['CompleteTask refused']], [1, 1, 2]);
  });

  it('has its root checked again, even if it could not be applied', async () => {
    let database: CrashingDatabase | undefined;
    const bench = await newBench({}, (inner) => {
      const point = { statement: 'tasks.settle', call: 1, when: 'before' } as const;
      database = new CrashingDatabase(inner, point, () => Promise.reject(new Error('a defect')));
      return database;
    });
    const root = newId();
    await feed(
      bench.manager,
      workerSeen('one'),
      collection({ id: root, mode: 'parallel', children: [{ kind: 'one' }] }),
    );
    const [start] = await started(bench.queue, 'one');
    const looks = (): number => database!.calls.get('trees.reevaluate') ?? 0;
    const before = looks();
    const { root_container_id: _, ...rootless } = completion(start!);
    const end = message(rootless);
    assert.deepEqual((await bench.manager.run([end], Date.now())).failed, [end.id]);
    assert.equal(looks(), before + 1);
    await bench.manager.run([end], Date.now());
    assert.equal((await bench.engine.getWorkflow(root))?.root_state, 'succeeded');
  });
});
