import { settingsOf } from '@heddle/base/vocabulary/task-fields';
import fc from 'fast-check';
import type { RetryPolicy } from '@heddle/base/vocabulary/task';
import type { Outcome } from '@heddle/base/vocabulary/task-state';
import { COMPLETION_POLICIES, CONTAINER_MODES } from '@heddle/base/vocabulary/workflow';
import type {
  CompletionPolicy,
  ContainerMode,
  NewContainerNode,
  NewNode,
  NewTaskNode,
} from '@heddle/base/vocabulary/workflow';
import type { Speaker } from './scenario.ts';

/** Trees to submit and commands to play; numbers are resolved against the nodes that exist when they are played. */
export interface TreeScenario {
  workflows: ContainerSpec[];
  commands: TreeCommand[];
}

export interface ContainerSpec {
  mode: ContainerMode;
  policy: CompletionPolicy;
  /** Its local name; names repeat among nodes that generators make. */
  name: number | null;
  children: NodeSpec[];
}

export interface TreeTaskSpec {
  policy: CompletionPolicy;
  disabled: boolean;
  generates: boolean;
  retry: RetryPolicy | null;
  timeout_secs: number;
  delay_ms: number;
}

export type NodeSpec = ContainerSpec | TreeTaskSpec;

/** Which tasks a pick chooses from; where none is such, from all. */
export type TreePool = 'any' | 'open' | 'generating' | 'unstarted' | 'paused' | 'ended' | 'ended_badly';

export interface TreePick {
  pool: TreePool;
  n: number;
}

export interface CreationSpec {
  generator: TreePick;
  /** `own`: no parent is named; `id` or `name`: that of a container of its workflow; `stranger`: of another one. */
  into: 'own' | 'id' | 'name' | 'stranger';
  n: number;
  node: NodeSpec;
  /** The attempt in whose name it is sent. */
  speaker: Speaker;
  /** Sends an earlier message again instead: how many messages ago. */
  repeats: number | null;
}

export type TreeCommand =
  | { type: 'submit' }
  | { type: 'submit_again' }
  | { type: 'claim'; limit: number; lease_ms: number | null }
  | {
      type: 'report';
      /**
       * `expects`: announced nodes beyond those that exist; null: it announces none. `disables`: which nodes of its
       * container, or, for one of five, of any, its success disables.
       */
      items: {
        pick: TreePick;
        speaker: Speaker;
        outcome: Outcome;
        expects: number | null;
        final?: boolean;
        disables?: number[];
      }[];
    }
  /** An open task of a sequence succeeds and disables some of what comes after it there. */
  | { type: 'decide'; n: number; disables: number[] }
  /** Reports every open attempt, with these outcomes in turn. */
  | { type: 'report_all'; outcomes: Outcome[] }
  | { type: 'create'; items: CreationSpec[] }
  | { type: 'complete' }
  | { type: 'heartbeat' | 'release'; items: { pick: TreePick; speaker: 'current' | 'stale' | 'future' }[] }
  | { type: 'cancel' | 'pause' | 'resume' | 'retry' | 'retry_after'; picks: TreePick[] }
  | { type: 'cancel_workflow' | 'pause_workflow' | 'resume_workflow' | 'retry_workflow'; n: number }
  | { type: 'advance'; ms: number };

export interface TreeSize {
  /** Children of one container, and containers in each other. */
  width: number;
  depth: number;
  commands: number;
  workflows?: number;
  /** Commands of operators: they end most workflows early. */
  operators?: boolean;
  delays?: boolean;
  /** Many generators, tasks that are retried repeatedly, and messages that come late. */
  attempts?: boolean;
  /** More containers than tasks. */
  nested?: boolean;
  /** Tasks that disable what comes after them, and retries of all that. */
  decisions?: boolean;
}

const NAMES = 4;

export function treeScenarioArbitrary(size: TreeSize): fc.Arbitrary<TreeScenario> {
  return fc.record({
    workflows: fc.array(containerArbitrary(size, size.depth), { minLength: 1, maxLength: size.workflows ?? 2 }),
    commands: fc.array(commandArbitrary(size), { maxLength: size.commands, size: 'max' }),
  });
}

function containerArbitrary(size: TreeSize, depth: number): fc.Arbitrary<ContainerSpec> {
  const children = (minLength: number): fc.Arbitrary<NodeSpec[]> =>
    fc.array(nodeArbitrary(size, depth - 1), { minLength, maxLength: Math.max(size.width, minLength), size: 'max' });
  return fc.record({
    mode: fc.constantFrom<ContainerMode>(...CONTAINER_MODES),
    policy: policyArbitrary(),
    name: fc.option(fc.nat(NAMES - 1), { freq: 2 }),
    children: fc.oneof(
      { weight: 6, arbitrary: children(depth === size.depth ? 2 : 1) },
      { weight: depth === size.depth ? 0 : 1, arbitrary: fc.constant<NodeSpec[]>([]) },
    ),
  });
}

function nodeArbitrary(size: TreeSize, depth: number): fc.Arbitrary<NodeSpec> {
  if (depth <= 0) return taskArbitrary(size);
  return fc.oneof(
    { weight: size.nested === true ? 1 : 3, arbitrary: taskArbitrary(size) },
    { weight: 2, arbitrary: containerArbitrary(size, depth) },
  );
}

function policyArbitrary(): fc.Arbitrary<CompletionPolicy> {
  return fc.constantFrom<CompletionPolicy>('FailOnFailure', ...COMPLETION_POLICIES);
}

/** Retry policies: a generator of many attempts needs them to be quick. */
const AT_ONCE: RetryPolicy = { max_attempts: 9, base_ms: 0, factor: 1, max_ms: 0, jitter: 0 };
const LATER: RetryPolicy = { max_attempts: 2, base_ms: 1_000, factor: 2, max_ms: 60_000, jitter: 0 };

function taskArbitrary(size: TreeSize): fc.Arbitrary<TreeTaskSpec> {
  return fc.record({
    policy: policyArbitrary(),
    disabled: fc.nat(7).map((n) => n === 7),
    generates: fc.nat(3).map((n) => n === 3 || (size.attempts === true && n > 0)),
    retry: size.attempts === true ? fc.constant(AT_ONCE) : fc.constantFrom(null, null, null, LATER),
    timeout_secs: fc.constantFrom(3_600, 3_600, 3_600, 5, 20),
    delay_ms: size.delays === true ? fc.constantFrom(0, 0, 0, 3_000) : fc.constant(0),
  });
}

function commandArbitrary(size: TreeSize): fc.Arbitrary<TreeCommand> {
  const pickFrom = (...pools: TreePool[]): fc.Arbitrary<TreePick> =>
    fc.record({ pool: fc.constantFrom(...pools), n: fc.nat(999) });
  const outcome = fc.constantFrom<Outcome>(
    'succeeded',
    'succeeded',
    'succeeded',
    'succeeded',
    'failed',
    'partially_failed',
    'timed_out',
  );
  const report = fc.record({
    pick: pickFrom('open', 'open', 'open', 'open', 'generating', 'any'),
    speaker: fc.constantFrom<Speaker>('current', 'current', 'current', 'current', 'anonymous', 'stale', 'future'),
    outcome,
    expects: fc.constantFrom(null, null, -1, 0, 1, 2),
    final: fc.constantFrom(false, false, false, false, true),
    disables: fc.oneof(
      { weight: 2, arbitrary: fc.constant<number[]>([]) },
      { weight: 1, arbitrary: fc.array(fc.nat(999), { minLength: 1, maxLength: 3 }) },
    ),
  });
  const creation = fc.record({
    generator: pickFrom('generating', 'generating', 'generating', 'generating', 'any'),
    into: fc.constantFrom<CreationSpec['into']>('own', 'own', 'id', 'id', 'id', 'name', 'name', 'stranger'),
    n: fc.nat(999),
    node: nodeArbitrary({ ...size, width: 2, depth: 9 }, 2),
    speaker: fc.constantFrom<Speaker>('current', 'current', 'current', 'anonymous', 'anonymous', 'stale', 'future'),
    repeats: fc.option(fc.nat(5), { freq: 4 }),
  });
  const beat = fc.record({
    pick: pickFrom('open', 'open', 'any'),
    speaker: fc.constantFrom<'current' | 'stale' | 'future'>('current', 'current', 'stale', 'future'),
  });
  const some = <Item>(item: fc.Arbitrary<Item>, maxLength: number): fc.Arbitrary<Item[]> =>
    fc.array(item, { minLength: 1, maxLength });
  const picks = (...pools: TreePool[]): fc.Arbitrary<TreePick[]> => some(pickFrom(...pools), 3);
  const weighted = (weight: number, arbitrary: fc.Arbitrary<TreeCommand>): fc.WeightedArbitrary<TreeCommand> => ({
    weight,
    arbitrary,
  });
  const rarely = size.operators === false ? 0 : 1;
  const workflow = (type: 'cancel_workflow' | 'pause_workflow' | 'resume_workflow' | 'retry_workflow') =>
    fc.record({ type: fc.constant(type), n: fc.nat(9) });
  return fc.oneof(
    weighted(2, fc.constant({ type: 'submit' })),
    weighted(1, fc.constant({ type: 'submit_again' })),
    weighted(
      size.decisions === true ? 20 : 8,
      fc.record({
        type: fc.constant('claim'),
        limit: fc.integer({ min: 1, max: 12 }),
        lease_ms: fc.constantFrom(null, null, 10_000),
      }),
    ),
    weighted(10, fc.record({ type: fc.constant('report'), items: some(report, 6) })),
    weighted(
      size.decisions === true ? 12 : 1,
      fc.record({
        type: fc.constant('decide'),
        n: fc.nat(999),
        disables: fc.array(fc.nat(999), { minLength: 1, maxLength: 3 }),
      }),
    ),
    weighted(4, fc.record({ type: fc.constant('report_all'), outcomes: some(outcome, 5) })),
    weighted(7, fc.record({ type: fc.constant('create'), items: some(creation, 4) })),
    weighted(4, fc.constant({ type: 'complete' })),
    weighted(1, fc.record({ type: fc.constant('heartbeat'), items: some(beat, 3) })),
    weighted(1, fc.record({ type: fc.constant('release'), items: some(beat, 2) })),
    weighted(rarely, fc.record({ type: fc.constant('cancel'), picks: picks('any', 'open', 'unstarted') })),
    weighted(rarely, fc.record({ type: fc.constant('pause'), picks: picks('any', 'open', 'unstarted') })),
    weighted(2 * rarely, fc.record({ type: fc.constant('resume'), picks: picks('paused', 'paused', 'any') })),
    weighted(rarely, fc.record({ type: fc.constant('retry'), picks: picks('ended_badly', 'ended_badly', 'any') })),
    weighted(rarely, fc.record({ type: fc.constant('retry_after'), picks: picks('ended', 'ended', 'any') })),
    weighted(size.decisions === true ? 4 : rarely, workflow('cancel_workflow')),
    weighted(rarely, workflow('pause_workflow')),
    weighted(2 * rarely, workflow('resume_workflow')),
    weighted(size.decisions === true ? 10 : 3 * rarely, workflow('retry_workflow')),
    weighted(2, fc.record({ type: fc.constant('advance'), ms: fc.constantFrom(500, 1_000, 4_000, 6_000, 31_000) })),
  );
}

function isContainerSpec(spec: NodeSpec): spec is ContainerSpec {
  return 'children' in spec;
}

/** @param kind of every task of the scenario */
export function buildTree(spec: ContainerSpec, newId: () => string, kind: string): NewContainerNode {
  const names = new Set<string>();
  return buildContainer(spec, newId, kind, names);
}

export function buildNode(spec: NodeSpec, newId: () => string, kind: string): NewNode {
  return build(spec, newId, kind, new Set());
}

function build(spec: NodeSpec, newId: () => string, kind: string, names: Set<string>): NewNode {
  return isContainerSpec(spec) ? buildContainer(spec, newId, kind, names) : buildTask(spec, newId(), kind);
}

/** Names are unique within what is built at once. */
function buildContainer(spec: ContainerSpec, newId: () => string, kind: string, names: Set<string>): NewContainerNode {
  const name = spec.name === null || names.has(nameOf(spec.name)) ? null : nameOf(spec.name);
  if (name !== null) names.add(name);
  return {
    type: 'container',
    id: newId(),
    local_id: name,
    mode: spec.mode,
    policy: spec.policy,
    children: spec.children.map((child) => build(child, newId, kind, names)),
  };
}

export function nameOf(n: number): string {
  return `container ${n % NAMES}`;
}

function buildTask(spec: TreeTaskSpec, id: string, kind: string): NewTaskNode {
  return {
    type: 'task',
    policy: spec.policy,
    disabled: spec.disabled,
    generates: spec.generates,
    task: {
      id,
      local_id: null,
      name: `task ${id.slice(9, 18)}`,
      kind,
      ...settingsOf('tree', { timeout_secs: spec.timeout_secs }),
      delay_ms: spec.delay_ms,
      metadata: {},
      actions: [],
      rules: [],
      dedupe: [],
      retry: spec.retry,
      dependencies: [],
    },
  };
}
