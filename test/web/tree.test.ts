/** The page's decisions about what a tree shows, without a browser. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settingsOf, settingsToWire } from '@heddle/base/vocabulary/task-fields';
import type { Container, TreeTask, WorkflowChange, WorkflowTree } from '@heddle/client';
import { endedOf, totalOf } from '../../web/src/ui/state.ts';
import type { State } from '../../web/src/ui/state.ts';
import type { TreeNode } from '../../web/src/workflows/tree-node.ts';
import { TreeStore } from '../../web/src/workflows/tree-store.ts';
import { DRAWN_MAX, PAGE_SIZE, TreeView } from '../../web/src/workflows/tree-view.ts';
import { FixtureWorkflowApi } from '../support/web/fixture-workflow-api.ts';
import { crowdedWorkflow, deepWorkflow, scanWorkflow, wideWorkflow } from '../support/web/fixture-workflows.ts';
import type { FixtureWorkflow } from '../support/web/fixture-workflows.ts';

interface Loaded {
  store: TreeStore;
  view: TreeView;
  asked: { container: string; from: number }[];
  detach: () => void;
}

function load(workflow: FixtureWorkflow, nodesMax = 10_000): Loaded {
  const api = new FixtureWorkflowApi();
  api.nodesMax = nodesMax;
  const store = new TreeStore();
  const asked: Loaded['asked'] = [];
  const view = new TreeView(store, (container, from) => asked.push({ container, from }));
  store.replace(api.tree(workflow) as WorkflowTree);
  return { store, view, asked, detach: view.attach() };
}

function idOf({ store }: Loaded, label: string): string {
  const node = [...store.nodes.values()].find((one) => one.label === label);
  assert.ok(node, `there is a node ${label}`);
  return node.id;
}

/** The API's words for the states that the tests use. */
const WIRE: Readonly<Partial<Record<State, Container['state']>>> = {
  waiting: 'Pending',
  pending: 'Pending',
  running: 'Running',
  succeeded: 'Succeeded',
  failed: 'Failed',
};

function wireOf(store: TreeStore, id: string): Container {
  const node = store.nodes.get(id);
  assert.ok(node?.type === 'container');
  return {
    type: 'container',
    id,
    parent_id: node.parent,
    local_id: node.localId,
    position: node.position,
    policy: node.policy,
    state: WIRE[node.state]!,
    reason: node.reason,
    started_at: null,
    ended_at: null,
    mode: node.mode,
    open_generators: node.openGenerators,
    counts: node.counts,
  };
}

function taskWire(node: TreeNode, more: Partial<TreeTask>): TreeTask {
  return {
    type: 'task',
    id: node.id,
    parent_id: node.parent,
    local_id: null,
    position: node.position,
    policy: node.policy,
    state: WIRE[node.state]!,
    reason: null,
    started_at: null,
    ended_at: null,
    name: node.label,
    kind: 'TcpSyn',
    status: 'Running',
    ...settingsToWire('tree', settingsOf('tree', { timeout_secs: 60, timeout_basis: 'start' })),
    attempt: 1,
    success: 0,
    failures: 0,
    created_at: '2026-05-04T10:00:00Z',
    last_updated: '2026-05-04T10:00:00Z',
    generator_id: null,
    expansion: null,
    ...more,
  };
}

/** Nodes that the groups show, counted independently. */
function drawnOf({ view, store }: Loaded): number {
  const open = [view.focus!];
  let drawn = 1;
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const { ids } = view.group(id);
    drawn += ids.length;
    open.push(...ids.filter((child) => store.nodes.get(child)?.type === 'container'));
  }
  return drawn;
}

test('small containers are open, large ones are closed until they are opened', () => {
  const small = load(scanWorkflow(1));
  assert.equal(small.view.drawn, small.store.nodes.size);
  const wide = load(wideWorkflow(2, 3000));
  const parts = idOf(wide, 'parts');
  assert.equal(wide.view.group(parts).open, false);
  wide.view.toggle(parts);
  assert.deepEqual([wide.view.group(parts).ids.length, wide.view.group(parts).total], [PAGE_SIZE, 3000]);
  wide.view.turnPage(parts, Infinity);
  assert.equal(wide.view.group(parts).from, 2900);
  wide.view.setFilter(parts, 'failed');
  assert.deepEqual([wide.view.group(parts).total, wide.view.group(parts).from], [30, 0]);
});

test('the number of nodes on screen is limited, whatever is opened', () => {
  const crowd = load(crowdedWorkflow(1));
  for (let i = 1; i <= 40; i += 1) crowd.view.setOpen(idOf(crowd, `group ${i}`), true);
  assert.equal(crowd.view.drawn, DRAWN_MAX);
  assert.equal(drawnOf(crowd), DRAWN_MAX);
  const last = idOf(crowd, 'group 40');
  assert.equal(crowd.view.group(last).held, true);
  crowd.view.zoomTo(last);
  assert.equal(crowd.view.group(last).ids.length, 90);
  assert.equal(drawnOf(crowd), 91);
});

test('a revealed node is on screen, however deep it is and on whatever page', () => {
  const deep = load(deepWorkflow(1, 1000));
  const bottom = idOf(deep, 'The bottom');
  assert.ok(deep.view.drawn < 50, 'a thousand levels are not all opened');
  deep.view.reveal(bottom);
  assert.ok(deep.view.group(deep.store.nodes.get(bottom)!.parent!).ids.includes(bottom));
  assert.ok(deep.store.ancestors(deep.view.focus!).length > 990, 'the view went down to where it stands');
  deep.view.zoomOut();
  assert.ok(deep.store.ancestors(deep.view.focus!).length > 990, 'one level, not all');

  const wide = load(wideWorkflow(2, 3000));
  const part = idOf(wide, 'Part 2345');
  wide.view.reveal(part);
  assert.ok(wide.view.group(idOf(wide, 'parts')).ids.includes(part));
  assert.equal(wide.view.focus, wide.store.rootId);
});

test('of a truncated tree, further pages are requested, kept while they are shown, and then dropped', () => {
  const workflow = wideWorkflow(1, 20_000);
  const cut = load(workflow, 500);
  const parts = idOf(cut, 'parts');
  assert.equal(cut.store.truncated, true);
  const known = cut.store.nodes.size;
  cut.view.setOpen(parts, true);
  cut.view.turnPage(parts, 150);
  assert.deepEqual(cut.asked.at(-1), { container: parts, from: 15_000 });
  assert.equal(cut.view.group(parts).loading, true);

  const api = new FixtureWorkflowApi();
  const search = new URLSearchParams({ page: '150', page_size: String(PAGE_SIZE) });
  cut.store.putPage(15_000, api.children(workflow, parts, search) as Parameters<TreeStore['putPage']>[1]);
  const group = cut.view.group(parts);
  assert.deepEqual(
    [group.loading, group.ids.length, cut.store.nodes.get(group.ids[0]!)!.label],
    [false, 100, 'Part 15001'],
  );
  assert.equal(cut.store.nodes.size, known + PAGE_SIZE);
  cut.view.toggle(parts);
  assert.equal(cut.store.nodes.size, known, 'a page that is no longer shown is forgotten');
});

test('counts are those of the tasks below, and for a truncated tree those of its containers', () => {
  const whole = load(scanWorkflow(1));
  const tally = whole.store.tally(whole.store.rootId!);
  assert.deepEqual([endedOf(tally), totalOf(tally), tally.creating], [13, 24, 1]);
  const wide = load(wideWorkflow(2, 20_000), 500);
  const parts = wide.store.tally(idOf(wide, 'parts'));
  assert.deepEqual([parts.failed, parts.succeeded, parts.open], [200, 9800, 10_000]);
});

test('an event replaces only the nodes that it names; a new node triggers a read if it would be visible', () => {
  const scan = load(scanWorkflow(1));
  const { store, view } = scan;
  const task = store.nodes.get(idOf(scan, 'Scan 10.0.9.0/24'))!;
  const other = store.nodes.get(idOf(scan, 'Scan 10.0.8.0/24'));
  const group = view.group(task.parent!);
  const dns = store.tally(idOf(scan, 'dns'));
  const wire = taskWire(task, { state: 'Succeeded', status: 'Success', last_updated: new Date().toISOString() });
  const change: WorkflowChange = { workflow: store.workflow!, containers: [], tasks: [wire] };
  assert.equal(store.apply(change), true);
  assert.equal(store.nodes.get(task.id)!.state, 'succeeded');
  assert.equal(store.nodes.get(other!.id), other);
  assert.equal(view.group(task.parent!), group);
  assert.equal(store.tally(idOf(scan, 'dns')), dns);
  assert.equal(endedOf(store.tally(store.rootId!)), 14);

  const older: TreeTask = { ...wire, state: 'Running', last_updated: '2020-01-01T00:00:00Z' };
  store.apply({ ...change, tasks: [older] });
  assert.equal(store.nodes.get(task.id)!.state, 'succeeded', 'what is older than what is known is passed over');

  const fresh = { ...wire, id: 'ffffffff-0000-7000-8000-000000000000' };
  assert.equal(store.apply({ ...change, tasks: [fresh] }), false);
  const cut = load(wideWorkflow(2, 20_000), 500);
  const within = { ...fresh, parent_id: idOf(cut, 'parts') };
  assert.equal(cut.store.apply({ ...change, tasks: [within] }), true, 'one more of thousands is only counted');
  const parts = wireOf(cut.store, idOf(cut, 'parts'));
  const counts = { ...parts.counts, children: parts.counts.children + 1, open: parts.counts.open + 1 };
  cut.store.apply({ ...change, tasks: [], containers: [{ ...parts, counts }] });
  assert.equal(cut.store.totalOf(parts.id), 20_001);
});

test('a reread tree keeps unchanged nodes', () => {
  const api = new FixtureWorkflowApi();
  const scan = load(scanWorkflow(1));
  const nodes = [...scan.store.nodes.values()];
  const root = scan.view.group(scan.view.focus!);
  scan.store.replace(api.tree(scanWorkflow(1)) as WorkflowTree);
  assert.deepEqual(
    nodes.filter((node) => scan.store.nodes.get(node.id) !== node),
    [],
  );
  assert.equal(scan.view.group(scan.view.focus!), root);
});
