import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import type { Engine, Report } from '@heddle/core/engine/port';
import { newId } from '@heddle/base/random';
import { newTask } from '@heddle/test-support/engine/fixture';
import { eventually } from '@heddle/test-support/eventually';
import { startHeddle, type Heddle } from '@heddle/test-support/cli/heddle';
import { heddle, type Ran } from '../support/cli/run-command.ts';

let server: Heddle;
let engine: Engine;

before(async () => {
  server = await startHeddle();
  engine = server.system.engine;
});

after(() => server.stop());

const UNKNOWN_ID = '01900000-0000-7000-8000-000000000000';

const on = (...args: string[]): Promise<Ran> => heddle(['workflow', ...args, '--url', server.url]);

let kinds = 0;
/** A separate kind, so that tests do not run each other's tasks. */
function newKind(): string {
  kinds += 1;
  return `cli-${kinds}`;
}

const threeSteps = (kind: string): string =>
  JSON.stringify({
    name: 'three steps',
    root: {
      mode: 'sequential',
      children: [
        { id: 'first', kind },
        {
          id: 'both',
          mode: 'parallel',
          policy: 'ContinueOnFailure',
          children: [
            { id: 'a', kind },
            { id: 'b', kind },
          ],
        },
        { id: 'last', kind, policy: 'ContinueOnFailure' },
      ],
    },
  });

async function submit(kind: string): Promise<string> {
  const ran = await heddle(['workflow', 'submit', '-', '--json', '--url', server.url], { stdin: threeSteps(kind) });
  assert.equal(ran.code, 0, ran.stderr);
  return (ran.json() as { workflow_id: string }).workflow_id;
}

/** Ends the ready tasks of the kind. */
async function run(kind: string, report: (name: string) => Partial<Report> = () => ({})): Promise<void> {
  await eventually(async () => {
    const claimed = await engine.claim({ lanes: [`kind:${kind}`], limit: 10, holder: 'test' });
    const reports = claimed.map(({ id, attempt, name }) => {
      return { task_id: id, attempt, outcome: 'succeeded' as const, ...report(name) };
    });
    await engine.report(reports);
    return claimed.length > 0;
  }, `tasks of ${kind} are ready`);
}

describe('heddle workflow', () => {
  test('submit, get, list', async () => {
    const kind = newKind();
    const submitted = await heddle(['workflow', 'submit', '-', '--url', server.url, '--name', 'given'], {
      stdin: threeSteps(kind),
    });
    assert.equal(submitted.code, 0, submitted.stderr);
    const [, id] = /^workflow ([0-9a-f-]{36}): 4 tasks in 2 containers$/.exec(submitted.lines[0]!)!;
    assert.equal(submitted.lines[1], `see it at ${server.url}/runs/${id}`);
    const got = await on('get', id!);
    assert.match(got.stdout, /^name {5}given$/m);
    assert.match(got.stdout, /^state {4}▶ Running$/m);
    assert.match(got.stdout, /^▶ \(sequential, 0\/3 ended\) Running\n {2}◌ first \[cli-\d+\] [0-9a-f-]{36} Pending\n/m);
    assert.match(got.stdout, /^ {2}◌ both \(parallel, 0\/2 ended, ContinueOnFailure\) Pending\n {4}◌ a /m);
    const shallow = await on('get', id!, '--depth', '1');
    assert.match(shallow.stdout, /^ {4}… 2 children not shown$/m);
    const containers = await on('get', id!, '--no-tasks', '--json');
    assert.equal((containers.json() as { root: { children: unknown[] } }).root.children.length, 1);
    const listed = await on('list', '--state', 'Running');
    assert.match(listed.stdout, new RegExp(`^${id} +Running +given +0/4`, 'm'));
    assert.equal((await on('list', '--open', '--ended')).code, 2);
    assert.equal((await on('list', '--state', 'Success')).code, 2);
  });

  test('explain describes the root, a container by its name or id, and what to run next', async () => {
    const id = await submit(newKind());
    const root = await on('explain', id);
    assert.equal(root.code, 0, root.stderr);
    assert.match(root.lines[0]!, new RegExp(`^▶ Running the root \\(${id}\\)$`));
    assert.match(root.lines[1]!, /^It has come to "first" \(pending\); 2 nodes come after that\.$/);
    assert.match(root.stdout, /Pending task first \([0-9a-f-]{36}\)/);
    const both = await on('explain', id, 'both');
    assert.equal(both.lines[1], 'It waits in the root sequence (running) until "first" has ended.');
    const [, bothId] = /both \(([0-9a-f-]{36})\)/.exec(both.lines[0]!)!;
    assert.equal((await on('explain', id, bothId!)).stdout, both.stdout);
    assert.deepEqual(Object.keys((await on('explain', id, 'both', '--json')).json() as object), [
      'container',
      'summary',
      'obstacles',
    ]);
    const unknown = await on('explain', id, 'nothing');
    assert.equal(unknown.code, 2);
    assert.match(unknown.stderr, /the workflow has no container named "nothing"/);
    assert.equal((await on('explain', id, UNKNOWN_ID)).code, 3);
    assert.equal((await on('explain', UNKNOWN_ID)).code, 3);
  });

  test('explain of a generator names the nodes that it created', async () => {
    const kind = newKind();
    const root = { mode: 'parallel', children: [{ kind, generator: true }] };
    const submitted = await heddle(['workflow', 'submit', '-', '--json', '--url', server.url], {
      stdin: JSON.stringify({ root }),
    });
    assert.equal(submitted.code, 0, submitted.stderr);
    const [generator] = await engine.claim({ lanes: [`kind:${kind}`], limit: 1, holder: 'test' });
    const { id: task_id, attempt } = generator!;
    const task = newTask({ kind: newKind(), id: newId() });
    const node = { type: 'task' as const, task, policy: 'FailOnFailure' as const, disabled: false, generates: false };
    await engine.createNodes([{ generator_id: task_id, attempt, node, parent: null }]);
    await engine.report([{ task_id, attempt, outcome: 'succeeded', result: null, expected_created: 2 }]);
    const ran = await heddle(['task', 'explain', task_id, '--url', server.url]);
    assert.equal(ran.code, 0, ran.stderr);
    assert.match(ran.stdout, new RegExp(`^ {4}${task.id}$`, 'm'));
  });

  test('watch ends with 0 on success, else with 1, and lists failures', async () => {
    const kind = newKind();
    const good = await submit(kind);
    const watching = on('watch', good);
    for (let round = 0; round < 3; round += 1) await run(kind);
    const ran = await watching;
    assert.equal(ran.code, 0, ran.stderr);
    assert.match(ran.lines.at(-1)!, /^✔ Succeeded three steps in \d+\.\d s: 4 Succeeded$/);

    const bad = await submit(kind);
    await run(kind, () => ({ outcome: 'failed', reason: 'no route' }));
    const failed = await on('watch', bad);
    assert.equal(failed.code, 1);
    assert.match(failed.stdout, /^✖ Failed three steps in .*: 1 Failed, 3 Disabled$/m);
    assert.match(failed.stdout, /✖ Failed first \([0-9a-f-]{36}\): no route/);
    assert.match((await on('get', bad)).stdout, /⊘ both .* Disabled: .*first/);
  });

  test('submit warns of a misspelled kind on standard error', async () => {
    const stdin = JSON.stringify({ root: { mode: 'sequential', children: [{ kind: 'FilterModel' }] } });
    const ran = await heddle(['workflow', 'submit', '-', '--url', server.url], { stdin });
    assert.equal(ran.code, 0);
    assert.equal(
      ran.stderr,
      'warning: no worker has ever requested tasks of the kind "FilterModel"; did you mean "FilterModels"? Otherwise they wait until one does\n',
    );
  });

  test('--watch --json writes JSON lines and nothing else', async () => {
    const kind = newKind();
    // A worker has requested it, so there is no warning.
    await engine.claim({ lanes: [`kind:${kind}`], limit: 1, holder: 'test' });
    const watching = heddle(['workflow', 'submit', '-', '--watch', '--json', '--url', server.url], {
      stdin: threeSteps(kind),
    });
    for (let round = 0; round < 3; round += 1) await run(kind);
    const ran = await watching;
    assert.equal(ran.code, 0, ran.stderr);
    assert.equal(ran.stderr, '');
    const events = ran.jsonLines();
    assert.deepEqual([events[0]!['event'], events[0]!['task_count']], ['submitted', 4]);
    const changes = events.slice(1, -1);
    assert.ok(changes.every((event) => event['event'] === 'change' && Array.isArray(event['containers'])));
    const end = events.at(-1)!;
    assert.deepEqual([end['event'], end['succeeded'], end['by_state']], ['end', true, { Succeeded: 4 }]);
  });

  test('pause, resume, cancel and retry report what they did', async () => {
    const kind = newKind();
    const id = await submit(kind);
    assert.equal((await on('pause', id)).stdout, 'paused 4 tasks\n');
    assert.match((await on('list')).stdout, new RegExp(`^${id} +Running, paused`, 'm'));
    assert.equal((await on('resume', id)).stdout, 'resumed 4 tasks\n');
    const early = await on('retry', id);
    assert.equal(early.code, 1);
    assert.match(early.stderr, /heddle workflow get ID/);
    assert.deepEqual((await on('cancel', id, '--json')).json(), { workflow_id: id, canceled: 4 });
    assert.match((await on('cancel', id)).stdout, /has already completed; nothing was canceled/);
    assert.equal((await on('retry', id)).stdout, 'retried 4 tasks\n');
    await run(kind);
    assert.match((await on('get', id)).stdout, /^ended {4}1 of 4 tasks$/m);
  });

  test('faults: an invalid workflow, missing objects, invalid options', async () => {
    const none = await heddle(['workflow', 'submit', '-', '--url', server.url], { stdin: '[]' });
    assert.equal(none.code, 2);
    assert.match(none.stderr, /standard input does not contain a workflow/);
    const invalid = await heddle(['workflow', 'submit', '-', '--url', server.url], {
      stdin: '{"root":{"mode":"parallel","children":[{"knd":"x"}]}}',
    });
    assert.equal(invalid.code, 2);
    assert.match(invalid.stderr, /root\.children\[0\]: must have kind.*did you mean "kind"/);
    for (const verb of ['get', 'watch', 'cancel', 'pause', 'resume', 'retry']) {
      assert.equal((await on(verb, UNKNOWN_ID)).code, 3, verb);
    }
  });
});
