import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type Model,
  type ModelEvent,
  type ModelTask,
  emptyModel,
  idealClaim,
  judgeClaim,
  openGates,
  step,
} from '@heddle/test-support/model';
import { isTerminal } from '@heddle/base/vocabulary/task-state';
import type { Rule } from '@heddle/base/vocabulary/task';
import { playOnModel } from '../support/domain/play.ts';
import { buildWorkflow, deterministicIds, scenarioArbitrary } from '../support/domain/scenario.ts';
import type { Scenario, ScenarioSize } from '../support/domain/scenario.ts';

const SIZE: ScenarioSize = { tasks: 25, commands: 60, workflows: 3, storedParents: true };
const runs = { numRuns: Number(process.env['HEDDLE_PROPERTY_RUNS'] ?? 150) };

function law(name: string, size: ScenarioSize, holds: (scenario: Scenario) => void): void {
  test(name, () => fc.assert(fc.property(scenarioArbitrary(size), holds), runs));
}

function statesOf(model: Model): Record<string, string> {
  return Object.fromEntries([...model.tasks].map(([id, task]) => [id, `${task.state} ${task.attempt}`]));
}

function everyLane(model: Model): string[] {
  return ['webhook', ...[...model.tasks.values()].map((task) => `kind:${task.definition.kind}`)];
}

law('a terminal task changes by nothing but the operator’s retry', SIZE, (scenario) => {
  playOnModel(scenario, (before, event, { model }) => {
    if (event.type === 'retry' || event.type === 'retry_after') return;
    for (const [id, task] of before.tasks) {
      if (!isTerminal(task.state)) continue;
      const { state, attempt, metadata, success_count, failure_count, failed_by } = model.tasks.get(id)!;
      assert.deepEqual(
        { state, attempt, metadata, success_count, failure_count, failed_by },
        {
          state: task.state,
          attempt: task.attempt,
          metadata: task.metadata,
          success_count: task.success_count,
          failure_count: task.failure_count,
          failed_by: task.failed_by,
        },
      );
    }
  });
});

law('gates and states agree after every step', SIZE, (scenario) => {
  playOnModel(scenario, (_, event, { model }) => {
    for (const task of model.tasks.values()) {
      const open = openGates(model, task);
      const context = `${task.definition.name} after ${event.type}`;
      if (task.state === 'waiting') assert.ok(open > 0, `${context}: waits for no parent`);
      if (task.state === 'pending') assert.equal(open, 0, `${context}: pending behind a gate`);
      if (task.state === 'claimed' || task.state === 'running') assert.ok(task.attempt_open, context);
      if (!task.attempt_open) assert.equal(task.deadline_at, null, `${context}: a clock runs without an attempt`);
      if (task.state === 'paused') assert.notEqual(task.paused_at, null, context);
      else assert.equal(task.paused_at, null, context);
    }
  });
});

law('the attempt never goes back and grows only by a claim', SIZE, (scenario) => {
  playOnModel(scenario, (before, event, { model }) => {
    for (const [id, task] of before.tasks) {
      const claimed = event.type === 'claim' && event.ids.includes(id);
      assert.equal(model.tasks.get(id)!.attempt, task.attempt + (claimed ? 1 : 0));
    }
  });
});

law('a step leaves the model before it untouched', { tasks: 10, commands: 25 }, (scenario) => {
  playOnModel(scenario, (before, event, _, now) => {
    const copy = structuredClone(before);
    step(before, event, now);
    assert.deepEqual(before, copy);
  });
});

law('every task ends if every claimed task is reported', SIZE, (scenario) => {
  const played = playOnModel(scenario);
  let { model, now } = played;
  const apply = (event: ModelEvent): void => void ({ model } = step(model, event, now));
  apply({ type: 'resume', ids: [...model.tasks.keys()] });
  for (let round = 0; ; round += 1) {
    const open = [...model.tasks.values()].filter((task) => !isTerminal(task.state));
    if (open.length === 0) break;
    assert.ok(
      round <= model.tasks.size * 3,
      `stuck: ${open.map((task) => `${task.definition.name} ${task.state}`).join(', ')}`,
    );
    now += 4_000_000;
    apply({ type: 'expire' });
    const ids = idealClaim(model, everyLane(model), 1_000, now);
    apply({ type: 'claim', ids, into: 'running' });
    const held = [...model.tasks.values()].filter((task) => task.attempt_open);
    apply({
      type: 'report',
      reports: held.map(({ definition }) => ({ task_id: definition.id, attempt: null, outcome: 'succeeded' })),
    });
  }
});

law('a set of reports means the same in any order', SIZE, (scenario) => {
  playOnModel(scenario, (before, event, after, now) => {
    if (event.type !== 'report' || new Set(event.reports.map((item) => item.task_id)).size < event.reports.length)
      return;
    const reversed = step(before, { type: 'report', reports: event.reports.toReversed() }, now);
    assert.deepEqual(reversed.model, after.model);
    assert.deepEqual(reversed.outcomes.toReversed(), after.outcomes);
  });
});

law('repeating a cancel, a pause or a resume changes nothing', SIZE, (scenario) => {
  playOnModel(scenario, (_, event, after, now) => {
    if (event.type !== 'cancel' && event.type !== 'pause' && event.type !== 'resume') return;
    const again = step(after.model, event, now);
    assert.deepEqual(again.model, after.model);
    assert.ok(again.outcomes.every(({ result }) => result === 'unchanged' || result === 'conflict'));
  });
});

law('a pause loses nothing: after the resume all is as before, with the clocks moved on', SIZE, (scenario) => {
  const { model: before, now } = playOnModel(scenario);
  const ids = [...before.tasks.values()].filter((task) => !isTerminal(task.state) && task.state !== 'paused');
  const names = ids.map((task) => task.definition.id);
  const paused = step(before, { type: 'pause', ids: names }, now).model;
  const resumed = step(paused, { type: 'resume', ids: names }, now + 1_234).model;
  const moved = (time: number | null): number | null => (time === null ? null : time + 1_234);
  for (const task of ids) {
    const after = resumed.tasks.get(task.definition.id)!;
    assert.deepEqual(after, {
      ...task,
      deadline_at: moved(task.deadline_at),
      claim_expires_at: task.claim_expires_at === null ? null : now + 1_234 + before.claim_timeout_ms,
      heard_at: now + 1_234,
    } satisfies ModelTask);
  }
});

law('parents that end during a pause count at the resume', { tasks: 20, commands: 20, workflows: 1 }, (scenario) => {
  const commands = scenario.commands.filter(
    ({ type }) => !['pause', 'resume', 'retry', 'retry_after', 'cancel'].includes(type),
  );
  const { model: before, now } = playOnModel({ ...scenario, commands });
  const waiting = [...before.tasks.values()]
    .filter((task) => task.state === 'waiting')
    .map((task) => task.definition.id);
  const open = [...before.tasks.values()].filter((task) => task.attempt_open).map((task) => task.definition.id);
  const reports = open.map((task_id, at) => ({
    task_id,
    attempt: null,
    outcome: at % 2 === 0 ? ('succeeded' as const) : ('partially_failed' as const),
  }));
  const direct = step(before, { type: 'report', reports }, now).model;
  const paused = step(before, { type: 'pause', ids: waiting }, now).model;
  const reported = step(paused, { type: 'report', reports }, now).model;
  const resumed = step(reported, { type: 'resume', ids: waiting }, now).model;
  assert.deepEqual(statesOf(resumed), statesOf(direct));
});

law('the operator’s retry takes back what one failure did', { ...SIZE, storedParents: false }, (scenario) => {
  const commands = scenario.commands.filter(({ type }) => !['pause', 'retry', 'retry_after'].includes(type));
  const { model: before, now } = playOnModel({ ...scenario, commands });
  for (const [id, task] of before.tasks) {
    if (isTerminal(task.state)) continue;
    const canceled = step(before, { type: 'cancel', ids: [id] }, now).model;
    const retried = step(canceled, { type: 'retry', ids: [id] }, now).model;
    const expected = statesOf(before);
    expected[id] = `${openGates(before, task) > 0 ? 'waiting' : 'pending'} ${task.attempt}`;
    assert.deepEqual(statesOf(retried), expected);
  }
});

law('no limit is ever exceeded where every task of a kind carries it', { ...SIZE, patches: false }, (scenario) => {
  const workflows = scenario.workflows.map((workflow) => ({
    ...workflow,
    tasks: workflow.tasks.map((task) => ({
      ...task,
      rules: [{ type: 'concurrency' as const, kind: task.kind, fields: ['tenant' as const], max: 2 }],
    })),
  }));
  playOnModel({ ...scenario, workflows }, (_, event, { model }) => {
    const used = new Map<string, number>();
    for (const task of model.tasks.values()) {
      if (!task.attempt_open) continue;
      const key = `${task.definition.kind} ${JSON.stringify(task.metadata['tenant'] ?? null)}`;
      used.set(key, (used.get(key) ?? 0) + 1);
      assert.ok(used.get(key)! <= 2, `${used.get(key)} of ${key} after ${event.type}`);
    }
  });
});

law('the ideal claim passes judgement, and judgement sees what is wrong with others', SIZE, (scenario) => {
  const { model, now } = playOnModel(scenario);
  const lanes = everyLane(model);
  const ideal = idealClaim(model, lanes, 5, now);
  assert.deepEqual(judgeClaim(model, lanes, 5, ideal, now), { faults: [], left: [] });
  if (ideal.length > 1) {
    const withoutFirst = judgeClaim(model, lanes, 5, ideal.slice(1), now);
    if (model.tasks.get(ideal[0]!)!.definition.rules.length === 0) {
      assert.notDeepEqual(withoutFirst.faults, [], 'passing over the first is a fault');
    }
    const withoutLast = judgeClaim(model, lanes, 5, ideal.slice(0, -1), now);
    assert.ok(withoutLast.left.includes(ideal.at(-1)!), 'stopping early is lawful, but seen');
  }
  const blocked = [...model.tasks.values()].find((task) => task.state !== 'pending');
  if (blocked !== undefined) {
    assert.notDeepEqual(judgeClaim(model, lanes, 5, [blocked.definition.id], now).faults, []);
  }
});

test('judgement refuses a claim against a rule', () => {
  const rule: Rule = { type: 'concurrency', matcher: { kind: 'kind-0', fields: [] }, max: 1 };
  const task = {
    kind: 0,
    webhook: false,
    priority: 0,
    delay_ms: 0,
    timeout_secs: 60,
    basis: 'start' as const,
    tenant: undefined,
    region: undefined,
    expected_count: null,
    rules: [{ type: rule.type, kind: 0, fields: [], max: rule.max }],
    retry: null,
    parents: [],
  };
  const workflow = buildWorkflow({ tasks: [task, task], order: [0, 1] }, deterministicIds(), []);
  const { model } = step(emptyModel(30_000), { type: 'submit', ...workflow }, 0);
  const ids = workflow.tasks.map(({ id }) => id);
  assert.deepEqual(judgeClaim(model, ['kind:kind-0'], 5, [ids[0]!], 0), { faults: [], left: [] });
  assert.match(judgeClaim(model, ['kind:kind-0'], 5, ids, 0).faults.join(), /against its concurrency rule/);
});
