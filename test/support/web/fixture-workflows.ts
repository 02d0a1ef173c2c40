import { fixtureId } from './fixture-batches.ts';

const START_MS = Date.UTC(2026, 4, 4, 10, 0, 0);

interface NodeBase {
  id: string;
  parent_id: string | null;
  local_id: string | null;
  position: number;
  policy: string;
  state: string;
  reason: string | null;
  started_at: string | null;
  ended_at: string | null;
}

export interface FixtureContainer extends NodeBase {
  type: 'container';
  mode: 'sequential' | 'parallel';
  open_generators: number;
  children: FixtureNode[];
}

export interface FixtureTreeTask extends NodeBase {
  type: 'task';
  name: string;
  kind: string;
  status: string;
  attempt: number;
  priority: number;
  timeout_secs: number;
  success: number;
  failures: number;
  expected_count: number | null;
  created_at: string;
  last_updated: string;
  generator_id: string | null;
  expansion: { expected: number | null; created: number } | null;
}

export type FixtureNode = FixtureContainer | FixtureTreeTask;

export interface FixtureWorkflow {
  id: string;
  name: string | null;
  paused: boolean;
  created_at: string;
  ended_at: string | null;
  root: FixtureContainer;
  /** Results of tasks. */
  results: Map<string, unknown>;
}

const BATCH_STATUS: Record<string, string> = {
  Pending: 'Waiting',
  Running: 'Running',
  PendingTaskCreation: 'Running',
  Succeeded: 'Success',
  PartiallyFailed: 'Failure',
  Failed: 'Failure',
  Timeout: 'Failure',
  Disabled: 'Canceled',
};

const OPEN_STATES = new Set(['Pending', 'Running', 'PendingTaskCreation']);

export function isOpen(node: FixtureNode): boolean {
  return OPEN_STATES.has(node.state);
}

/** Creates nodes of one workflow, with ids in the order of creation. */
export class TreeBuilder {
  private readonly workflow: number;
  private made = 0;

  constructor(workflow: number) {
    this.workflow = workflow;
  }

  task(name: string, state: string, more: Partial<FixtureTreeTask> = {}): FixtureTreeTask {
    const base = this.base(state);
    return {
      type: 'task',
      ...base,
      name,
      kind: 'hash',
      status: BATCH_STATUS[state]!,
      attempt: base.started_at === null ? 0 : 1,
      priority: 0,
      timeout_secs: 3600,
      success: 0,
      failures: 0,
      expected_count: null,
      created_at: new Date(START_MS).toISOString(),
      last_updated: new Date(START_MS).toISOString(),
      generator_id: null,
      expansion: null,
      ...more,
    };
  }

  sequence(name: string | null, state: string, children: FixtureNode[], more: Partial<FixtureContainer> = {}) {
    return this.container('sequential', name, state, children, more);
  }

  parallel(name: string | null, state: string, children: FixtureNode[], more: Partial<FixtureContainer> = {}) {
    return this.container('parallel', name, state, children, more);
  }

  finish(name: string | null, root: FixtureContainer): FixtureWorkflow {
    root.id = fixtureId(this.workflow, 0);
    for (const child of root.children) child.parent_id = root.id;
    const created_at = new Date(START_MS + this.workflow * 1000).toISOString();
    const ended_at = isOpen(root) ? null : new Date(START_MS + 90_000).toISOString();
    return { id: root.id, name, paused: false, created_at, ended_at, root, results: new Map() };
  }

  private container(
    mode: FixtureContainer['mode'],
    local_id: string | null,
    state: string,
    children: FixtureNode[],
    more: Partial<FixtureContainer>,
  ): FixtureContainer {
    const container: FixtureContainer = {
      type: 'container',
      ...this.base(state),
      local_id,
      mode,
      open_generators: 0,
      children,
      ...more,
    };
    for (const [position, child] of children.entries()) Object.assign(child, { parent_id: container.id, position });
    return container;
  }

  private base(state: string): NodeBase {
    this.made += 1;
    const began = state !== 'Pending' && state !== 'Disabled';
    return {
      id: fixtureId(this.workflow, this.made),
      parent_id: null,
      local_id: null,
      position: 0,
      policy: 'FailOnFailure',
      state,
      reason: null,
      started_at: began ? new Date(START_MS + 500).toISOString() : null,
      ended_at: OPEN_STATES.has(state) ? null : new Date(START_MS + 4200 + this.made).toISOString(),
    };
  }
}

/** A running scan: a generator, parallel workers, an aggregator, and a node in every state. */
export function scanWorkflow(workflow: number): FixtureWorkflow {
  const tree = new TreeBuilder(workflow);
  const workers = Array.from({ length: 14 }, (_, i) =>
    tree.task(`Scan 10.0.${i}.0/24`, i < 8 ? 'Succeeded' : i < 12 ? 'Running' : 'Pending', { kind: 'TcpSyn' }),
  );
  workers[3] = tree.task('Scan 10.0.3.0/24', 'Failed', {
    kind: 'TcpSyn',
    attempt: 3,
    policy: 'ContinueOnFailure',
    reason: 'the target answered 503 after 3 tries: <b>overloaded</b>',
  });
  workers[5] = tree.task('Scan 10.0.5.0/24', 'Timeout', { kind: 'TcpSyn', policy: 'ContinueOnFailure' });
  const tcp = tree.sequence('tcp', 'Running', [
    tree.task('Plan the scan', 'Succeeded', { kind: 'TcpSynGenerator', expansion: { expected: 14, created: 14 } }),
    tree.parallel('workers', 'Running', workers),
    tree.task('Put it together', 'Pending', { kind: 'TcpSynAggregator' }),
  ]);
  const dns = tree.sequence('dns', 'Running', [
    tree.task('Plan the names', 'PendingTaskCreation', {
      kind: 'DnsScanGenerator',
      expansion: { expected: 40, created: 3 },
    }),
    tree.parallel('names', 'Pending', [], { open_generators: 1 }),
    tree.task('Put names together', 'Pending', { kind: 'DnsScanAggregator' }),
  ]);
  const tls = tree.sequence('tls', 'PartiallyFailed', [
    tree.task('Certificates', 'PartiallyFailed', { kind: 'TlsScan', policy: 'ContinueOnPartialFailure' }),
    tree.task('Ciphers', 'Succeeded', { kind: 'TlsScan' }),
    tree.task('Old protocols', 'Disabled', { kind: 'TlsScan', reason: 'disabled in the submission' }),
  ]);
  const root = tree.sequence('scan', 'Running', [
    tree.task('Read the inventory', 'Succeeded', { kind: 'ListModels' }),
    tree.parallel('scans', 'Running', [tcp, dns, tls]),
    tree.task('Write the findings', 'Pending', { kind: 'InsertData' }),
    tree.task('Tell the team', 'Pending', { kind: 'GenericNotification', policy: 'ContinueOnFailure' }),
  ]);
  const built = tree.finish('Nightly scan', root);
  built.results.set(root.children[0]!.id, { hosts: 3584 });
  return built;
}

/** A generator and `count` parallel workers, of which every 50th failed. */
export function wideWorkflow(workflow: number, count: number): FixtureWorkflow {
  const tree = new TreeBuilder(workflow);
  const stateOf = (i: number): string => (i >= count / 2 ? 'Pending' : i % 50 === 7 ? 'Failed' : 'Succeeded');
  const workers = Array.from({ length: count }, (_, i) => tree.task(`Part ${i + 1}`, stateOf(i)));
  const root = tree.sequence('wide', 'Running', [
    tree.task('Split', 'Succeeded', { kind: 'SplitGenerator', expansion: { expected: count, created: count } }),
    tree.parallel('parts', 'Running', workers),
    tree.task('Join', 'Pending', { kind: 'JoinAggregator' }),
  ]);
  return tree.finish(`${count} parts`, root);
}

/** Sequences within sequences, each with a task before the next level. */
export function deepWorkflow(workflow: number, levels: number): FixtureWorkflow {
  const tree = new TreeBuilder(workflow);
  let inner = tree.sequence(`level ${levels}`, 'Running', [tree.task('The bottom', 'Running')]);
  for (let level = levels - 1; level >= 1; level -= 1) {
    const step = tree.task(`Step ${level}`, 'Succeeded');
    inner =
      level % 2 === 0
        ? tree.parallel(`level ${level}`, 'Running', [step, inner])
        : tree.sequence(`level ${level}`, 'Running', [step, inner]);
  }
  return tree.finish(`${levels} levels`, inner);
}

/** Many medium-sized containers: more nodes than a screen shows. */
export function crowdedWorkflow(workflow: number): FixtureWorkflow {
  const tree = new TreeBuilder(workflow);
  const groups = Array.from({ length: 40 }, (_, i) =>
    tree.parallel(
      `group ${i + 1}`,
      'Running',
      Array.from({ length: 90 }, (_each, k) =>
        tree.task(`Task ${i + 1}.${k + 1}`, k % 3 === 0 ? 'Running' : 'Pending'),
      ),
    ),
  );
  return tree.finish('Crowded', tree.parallel('crowd', 'Running', groups));
}
