import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { CompleteTaskMessage, ManagerMessage, StartTaskMessage } from '../../../src/domain/message.ts';
import { COMPLETION_STATES } from '../../../src/domain/message.ts';
import { encodeManagerMessage, encodeStartTask } from '../../../src/domain/parse/encode.ts';
import {
  NOTIFY_STATES,
  type Channel,
  type WorkflowNotification,
} from '../../../src/domain/notification/notification.ts';
import { parseManagerMessage, parseStartTask } from '../../../src/domain/parse/message.ts';
import type { NewContainerNode } from '@heddle/base/vocabulary/workflow';
import { deterministicIds } from '../../support/domain/scenario.ts';
import { nodeArbitrary, plainRecord } from '../../support/domain/parse/trees.ts';

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const ID = '0190a6e4-0000-7000-8000-00000000000a';

function parse(message: unknown): ReturnType<typeof parseManagerMessage> {
  return parseManagerMessage(JSON.stringify(message), deterministicIds());
}

function reasonOf(message: unknown): string {
  const parsed = parse(message);
  return parsed.ok ? assert.fail('it was accepted') : parsed.reason;
}

function notificationArbitrary(): fc.Arbitrary<WorkflowNotification> {
  const url = fc.constant('https://hooks.example.com/in');
  const channel: fc.Arbitrary<Channel> = fc.oneof(
    plainRecord({
      type: fc.constant('webhook' as const),
      url,
      verb: fc.constantFrom('Post' as const, 'Put' as const),
      headers: fc.option(fc.constant({ 'x-team': 'a' })),
    }),
    plainRecord({ type: fc.constant('slack' as const), url }),
    plainRecord({
      type: fc.constant('email' as const),
      to: fc.constantFrom(['a@example.com'], ['a@example.com', 'b.c+d@example.org']),
      subject: fc.option(fc.constant('{{ workflow.name }}')),
    }),
  );
  return plainRecord({
    on: fc.subarray([...NOTIFY_STATES], { minLength: 1 }),
    channel,
    title: fc.option(fc.constant('title')),
    text: fc.option(fc.constant('text')),
    payload: fc.constantFrom(undefined, null, { a: ['{{ workflow.id }}'] }),
  });
}

function messageArbitrary(): fc.Arbitrary<ManagerMessage> {
  const id = fc.uuid();
  const count = fc.nat(9);
  return fc.oneof(
    fc
      .tuple(
        nodeArbitrary(),
        fc.array(notificationArbitrary(), { maxLength: 3 }),
        fc.constantFrom({}, { traceparent: TRACE }),
      )
      .map(([node, notify, traced]): ManagerMessage => {
        const root: NewContainerNode =
          node.type === 'container'
            ? node
            : {
                type: 'container',
                id: ID,
                local_id: null,
                mode: 'parallel',
                policy: 'FailOnFailure',
                children: [node],
              };
        return { type: 'CreateTaskCollection', collection: { name: 'w', root, notify }, job_run_id: null, ...traced };
      }),
    plainRecord({
      type: fc.constant('CreateTask' as const),
      task: nodeArbitrary(),
      generator_id: id,
      attempt: fc.option(fc.integer({ min: 1, max: 9 })),
      parent_id: fc.oneof(fc.constantFrom(null, 'workers'), id),
    }),
    plainRecord({
      type: fc.constant('CompleteTask' as const),
      task_id: id,
      state: fc.constantFrom(...COMPLETION_STATES),
      root_container_id: fc.option(id),
      data: fc.constantFrom(null, 5, 'x', { hosts: ['a'] }, []),
      expected_task_count: fc.option(count),
      attempt: fc.option(fc.integer({ min: 1, max: 9 })),
      reason: fc.constantFrom(null, '', 'refused'),
      final: fc.boolean(),
    }),
    plainRecord({
      type: fc.constant('HeartbeatTask' as const),
      task_id: id,
      attempt: fc.integer({ min: 1, max: 9 }),
      new_success: count,
      new_failures: count,
    }),
    plainRecord({
      type: fc.constant('WorkerSeen' as const),
      worker: fc.constant('host:1'),
      kinds: fc.constant(['work', 'scan']),
      concurrency: fc.integer({ min: 1, max: 99 }),
    }),
  );
}

test('every message to the manager survives its way over the wire', () => {
  fc.assert(
    fc.property(messageArbitrary(), (message) => {
      const parsed = parseManagerMessage(encodeManagerMessage(message), () => assert.fail('an id was made'));
      assert.deepEqual(parsed, { ok: true, message, message_id: null });
    }),
  );
});

test('a message to a worker survives its way over the wire', () => {
  const message: StartTaskMessage = {
    type: 'StartTask',
    root_container_id: ID,
    task: {
      id: ID,
      kind: 'work',
      name: 'probe',
      local_id: 'probe',
      input: { host: 'a' },
      attempt: 2,
      timeout_secs: 60,
      parent_id: ID,
    },
  };
  assert.deepEqual(parseStartTask(encodeStartTask(message)), { ok: true, message });
  const traced = { ...message, traceparent: TRACE };
  assert.deepEqual(parseStartTask(encodeStartTask(traced)), { ok: true, message: traced });
  for (const traceparent of [7, null, {}, 'x'.repeat(513)]) {
    assert.deepEqual(parseStartTask(JSON.stringify({ ...message, traceparent })), { ok: true, message });
  }
});

test('what a completion leaves out has its default, and null is as good as absent', () => {
  const message: CompleteTaskMessage = {
    type: 'CompleteTask',
    task_id: ID,
    state: 'Succeeded',
    root_container_id: null,
    data: null,
    expected_task_count: null,
    attempt: null,
    reason: null,
    final: false,
  };
  assert.deepEqual(parse({ type: 'CompleteTask', task_id: ID.toUpperCase(), state: 'Succeeded' }), {
    ok: true,
    message,
    message_id: null,
  });
  assert.deepEqual(parse({ ...message, message_id: 'report-7' }), { ok: true, message, message_id: 'report-7' });
});

test('a generator may report the state that it enters, with the number of nodes that it announced', () => {
  const report = { type: 'CompleteTask', task_id: ID, state: 'PendingTaskCreation', root_container_id: ID, data: null };
  const parsed = parse({ ...report, expected_task_count: 3 });
  assert.ok(parsed.ok && parsed.message.type === 'CompleteTask');
  assert.equal(parsed.message.state, 'Succeeded');
  assert.equal(parsed.message.expected_task_count, 3);
  for (const missing of [report, { ...report, expected_task_count: null }]) {
    assert.equal(reasonOf(missing), 'expected_task_count: is required if the state is "PendingTaskCreation"');
  }
});

test('a refusal says why in one line', () => {
  const body = parseManagerMessage('{"type":', deterministicIds());
  assert.ok(!body.ok);
  assert.match(body.reason, /^the body is not valid JSON: /);
  assert.equal(reasonOf([]), 'the body must be an object with a type, not an array');
  assert.equal(reasonOf({}), 'type: is required');
  assert.match(reasonOf({ type: 'CompletedTask' }), /^type: must be .*; did you mean "CompleteTask"\?$/);
  assert.equal(
    reasonOf({ type: 'CompleteTask', task_id: 'x', state: 'Success', expected_task_cout: 1 }),
    'expected_task_cout: is not a known member; did you mean "expected_task_count"?; ' +
      'task_id: must be a UUID, not "x"; ' +
      'state: must be "Succeeded", "Failed", "Timeout", "PartiallyFailed" or "PendingTaskCreation", not "Success"',
  );
  assert.equal(
    reasonOf({ type: 'CreateTask', generator_id: ID, task: { mode: 'parallel', children: [{ kind: '' }] } }),
    'task.children[0].kind: must have 1 to 100 characters, not 0',
  );
  assert.equal(
    reasonOf({ type: 'CreateTaskCollection', collection: { root: { mode: 'parallel', children: [5] } } }),
    'collection.root.children[0]: must be a task or a container, not 5',
  );
  assert.match(
    reasonOf({ type: 'CreateTask', generator_id: ID, task: { mode: 'parallel', children: [1, 2, 3, 4, 5, 6, 7] } }),
    /; and 2 more$/,
  );
  assert.equal(
    reasonOf({ type: 'WorkerSeen', worker: 'w', kinds: ['a', 5], concurrency: 1 }),
    'kinds[1]: must be a string, not 5',
  );
  const start = parseStartTask('{"type":"StartTask","root_container_id":"x","task":{"id":"y","kind":"z","attempt":0}}');
  assert.deepEqual(start, {
    ok: false,
    reason:
      'root_container_id: must be a UUID, not "x"; task.id: must be a UUID, not "y"; ' +
      'task.attempt: must be between 1 and 2147483647, not 0',
  });
});

test('a reason of any length or content is kept as far as it can be, and refuses no completion', () => {
  const parsed = parse({ type: 'CompleteTask', task_id: ID, state: 'Failed', reason: `\0\ud800${'x'.repeat(20_000)}` });
  assert.ok(parsed.ok && parsed.message.type === 'CompleteTask');
  assert.equal(parsed.message.reason!.length, 10_000);
  assert.ok(parsed.message.reason!.startsWith('\ufffd\ufffdx'));
});

test('data that cannot be stored is refused', () => {
  assert.match(
    reasonOf({ type: 'CompleteTask', task_id: ID, state: 'Succeeded', data: { a: 'x\0' } }),
    /^data\.a: holds a NUL character/,
  );
});
