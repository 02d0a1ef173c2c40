/** Faulty templates are rejected when a workflow is submitted; results of tasks are never templates. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { HeddleError } from '@heddle/base/errors';
import type { JsonObject, JsonValue } from '@heddle/base/json';
import { parseWorkflow } from '@heddle/core/domain/parse/workflow';
import {
  compileNotification,
  NOTIFICATION_STEPS_MAX,
  TASK_VARIABLES,
} from '@heddle/core/internal/engine/notices/render';
import { readVariables } from '@heddle/core/internal/engine/notices/variables';
import { SLICE_STEPS } from '@heddle/core/expression/meter';
import { newId } from '@heddle/base/random';
import { SlicedWork } from '@heddle/base/sliced-work';
import { putCollectionData } from '@heddle/core/internal/store/collection-data';
import { newNotificationBench, runSequence, bodyOf, written } from '@heddle/test-support/kinds/notification/telling';
import { newBench } from '@heddle/test-support/engine/fixture';
import { par, seq } from '@heddle/test-support/engine/flow/tree';

const WEBHOOK = { webhook: { url: 'https://hooks.example.com/in' } };
const expr = (text: string): JsonObject => ({ $expr: text });
const told = (input: JsonObject, kind = 'GenericNotification'): JsonObject => ({
  kind,
  input: { to: WEBHOOK, ...input },
});

async function faultsOf(root: JsonObject, notify: JsonValue = []): Promise<string[]> {
  const { engine } = await newBench();
  const read = parseWorkflow({ root, notify }, newId);
  assert.ok(read.ok, JSON.stringify(read));
  const submission = {
    name: null,
    root: read.root,
    notify: read.notify,
    traceparent: null,
    idempotency: null,
    job_run_id: null,
  };
  let details: string[] = [];
  await engine.submitWorkflows([submission]).catch((error: unknown) => {
    details = [...(error as HeddleError).details];
  });
  return details;
}

describe('templates of tasks', () => {
  const faults: [string, JsonObject, RegExp][] = [
    ['syntax', seq(told({ text: '{{ 1 + }}' })), /^root\.children\[0\]\.input\.text: Unexpected token/],
    [
      'an unknown node',
      seq({ id: 'scan', kind: 'a' }, told({ title: '{{ nodes.scam.result }}' })),
      /^root\.children\[1\]\.input\.title: there is no node "scam"; did you mean "scan"\?$/,
    ],
    [
      'a later node',
      seq(told({ payload: { a: ['{{ nodes.scan.result }}'] } }), { id: 'scan', kind: 'a' }),
      /^root\.children\[0\]\.input\.payload\.a\[0\]: the node "scan" does not precede this task/,
    ],
    [
      'a node beside it',
      par({ id: 'scan', kind: 'a' }, told({ payload: { a: expr('nodes.scan.result') } })),
      /^root\.children\[1\]\.input\.payload\.a: the node "scan" does not precede/,
    ],
    [
      'the subject',
      seq(told({ to: { email: { to: ['a@example.com'], subject: '{{ nodes }}' } } })),
      /^root\.children\[0\]\.input\.to\.email\.subject: must name what it reads: nodes\.NAME/,
    ],
    ['the variable of another kind', seq(told({ text: '{{ errors }}' })), /there is no variable "errors"/],
    [
      'a text from an expression',
      seq(told({ text: expr('"a"') })),
      /^root\.children\[0\]\.input\.text: must be a string; .*\{\{/,
    ],
    [
      'an address with its subject',
      seq(told({ to: expr('data.to') })),
      /^root\.children\[0\]\.input\.to: cannot be an expression, since it holds templates/,
    ],
  ];
  for (const [name, root, expected] of faults) {
    it(`are refused: ${name}`, async () => {
      const found = await faultsOf(root);
      assert.match(found[0] ?? '', expected);
      assert.equal(found.length, 1, found.join('\n'));
    });
  }

  it('may use what their kinds tell, and addresses may be worked out', async () => {
    const url = { webhook: { url: expr('data.url') } };
    assert.deepEqual(await faultsOf(seq(told({ text: '{{ error_count }}' }, 'ErrorNotification'))), []);
    assert.deepEqual(
      await faultsOf(seq(told({ to: url, text: '{{ results.size() }}' }, 'TaskResultNotification'))),
      [],
    );
  });

  it('are not made of what tasks found', async () => {
    const bench = await newNotificationBench();
    const banner = 'hello {{ data.token }} {{';
    const outcome = await runSequence(bench, [
      { id: 'scan', kind: 'work', input: { result: { banner } } },
      {
        id: 'tell',
        ...told({ text: '{{ nodes.scan.result.banner }}', payload: { found: expr('nodes.scan.result') } }),
      },
    ]);
    assert.equal(outcome.state, 'succeeded');
    assert.deepEqual(bodyOf((await written(bench))[0]), { found: { banner } });
  });

  it('fail where what they read is too much for one notification', async () => {
    const { database } = await newBench();
    const entry = { workflow_id: newId(), name: 'large', attempt: 1, list: true };
    const channel = { type: 'slack', url: 'https://hooks.example.com/in' } as const;
    const notification = { channel, title: null, text: '{{ size(data.large) }}', payload: undefined };
    const compiled = compileNotification(notification, TASK_VARIABLES);
    assert.ok(compiled.ok);
    const read = () => readVariables(database, entry.workflow_id, compiled.notification.expressions);
    for (let part = 1; part <= 9; part += 1) {
      await putCollectionData(database, { ...entry, task_id: newId(), data: ['x'.repeat(1_000_000)] }, null);
      if (part < 9) assert.equal(((await read()).data['large'] as JsonValue[]).length, part);
    }
    await assert.rejects(read(), /data\.large \(9\d{6} bytes\); at most 8388608 bytes are allowed/);
  });

  it('leave no text in a payload that the database refuses', async () => {
    const channel = { type: 'slack', url: 'https://hooks.example.com/in' } as const;
    const notification = { channel, title: null, text: null, payload: { $expr: '{"a\\u0000": "\\u0000"}' } };
    const compiled = compileNotification(notification, TASK_VARIABLES);
    assert.ok(compiled.ok);
    const allowance = new SlicedWork({ slice_steps: SLICE_STEPS });
    const { payload } = await compiled.notification.render({}, { title: '', text: '' }, allowance);
    assert.deepEqual(payload, { 'a\ufffd': '\ufffd' });
  });

  it('share one budget: a notification takes no more steps than one expression may', async () => {
    const channel = { type: 'slack', url: 'https://hooks.example.com/in' } as const;
    const heavy = '{{ data.list.all(a, data.list.all(b, b >= 0)) }}';
    const notification = { channel, title: null, text: heavy.repeat(32), payload: undefined };
    const compiled = compileNotification(notification, TASK_VARIABLES);
    assert.ok(compiled.ok);
    const work = new SlicedWork({ slice_steps: SLICE_STEPS });
    const data = { list: Array.from({ length: 500 }, (_, index) => index) };
    await assert.rejects(
      compiled.notification.render({ data }, { title: '', text: '' }, work.part(NOTIFICATION_STEPS_MAX)),
      /^Error: text: with it the expressions of this notification take more than 2000000 steps$/,
    );
    assert.ok(work.spent <= NOTIFICATION_STEPS_MAX + SLICE_STEPS, `${work.spent} steps`);
  });
});

describe('templates of the end of a workflow', () => {
  it('are refused where they name a node that the workflow does not have', async () => {
    const root = seq({ id: 'scan', kind: 'a' });
    const text = '{{ nodes.scan.state }} {{ nodes.scam.state }}';
    assert.deepEqual(await faultsOf(root, [{ to: WEBHOOK }, { to: WEBHOOK, text }]), [
      'notify[1].text: there is no node "scam"; did you mean "scan"?',
    ]);
  });

  it('may name what generators make', async () => {
    const root = seq({ id: 'make', kind: 'make', generator: true });
    assert.deepEqual(await faultsOf(root, [{ to: WEBHOOK, text: '{{ nodes.made.state }}' }]), []);
  });
});
