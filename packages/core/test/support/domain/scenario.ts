import { settingsOf } from '@heddle/base/vocabulary/task-fields';
import fc from 'fast-check';
import { COMPLETION_POLICIES, type CompletionPolicy } from '@heddle/base/vocabulary/completion-policy';
import { uuidV7Generator } from '@heddle/base/ids';
import type { TaskId, WorkflowId } from '@heddle/base/ids';
import type { JsonObject } from '@heddle/base/json';
import type { Action, NewTask, RetryPolicy, Rule } from '@heddle/base/vocabulary/task';
import type { Outcome } from '@heddle/base/vocabulary/task-state';

/**
 * A scenario is data: workflows to submit and commands to play, with numbers where a task is meant. The player resolves
 * a number against the tasks that exist then, so that every scenario (also a shrunk one) means something.
 */
export interface Scenario {
  workflows: WorkflowSpec[];
  commands: Command[];
}

export interface WorkflowSpec {
  tasks: TaskSpec[];
  /** Shuffles the array, so that dependencies point forward and backward in it. */
  order: number[];
  /** Limit of a claim that goes along with the submission; none by default. */
  along?: number | null;
}

export interface TaskSpec {
  kind: number;
  webhook: boolean;
  priority: number;
  delay_ms: number;
  timeout_secs: number;
  basis: 'start' | 'activity';
  tenant: string | null | undefined;
  region: number | undefined;
  expected_count: number | null;
  rules: RuleSpec[];
  policy?: CompletionPolicy;
  retry: RetryPolicy | null;
  /** `back`: how many tasks before this one; `stored`: a task of an earlier workflow instead. */
  parents: { back: number; stored: boolean; requires_success: boolean }[];
}

export interface RuleSpec {
  type: Rule['type'];
  kind: number;
  fields: ('tenant' | 'region')[];
  max: number;
}

/** Which tasks a pick chooses from; where none is such, from all. */
export type Pool = 'any' | 'open' | 'claimed' | 'unstarted' | 'paused' | 'ended' | 'ended_badly';

export interface Pick {
  pool: Pool;
  n: number;
}

export type Speaker = 'current' | 'stale' | 'anonymous' | 'future';

export interface Counts {
  new_success: number;
  new_failures: number;
}

export type Command =
  | { type: 'submit' }
  | { type: 'claim'; kinds: number[]; limit: number }
  | { type: 'claim_for_delivery'; limit: number }
  | { type: 'deliver'; limit: number; verdicts: ('delivered' | 'retry' | 'dead')[] }
  | {
      type: 'report';
      items: { pick: Pick; speaker: Speaker; outcome: Outcome; counts: Counts | null; patch: JsonObject | null }[];
      /** Limit of a claim that goes along with the reports; none by default. */
      along?: number | null;
    }
  | { type: 'update'; pick: Pick; speaker: Speaker; counts: Counts | null; patch: JsonObject | null }
  | { type: 'progress'; items: { pick: Pick; counts: Counts }[] }
  | { type: 'cancel' | 'pause' | 'resume' | 'retry' | 'retry_after'; picks: Pick[] }
  | { type: 'lose_delivery'; pick: Pick }
  | { type: 'advance'; ms: number };

export interface ScenarioSize {
  tasks: number;
  commands: number;
  workflows?: number;
  /** Parents in an earlier workflow. */
  storedParents?: boolean;
  rules?: boolean;
  /** The operator's retry. */
  retries?: boolean;
  /** Metadata patches move running tasks between slots. */
  patches?: boolean;
  /** Only tasks without webhooks, rules and retries. */
  plain?: boolean;
}

const KINDS = 3;
const TENANTS = ['a', 'b', null, undefined];

export function scenarioArbitrary(size: ScenarioSize): fc.Arbitrary<Scenario> {
  const workflow = fc.array(taskArbitrary(size), { minLength: 1, maxLength: size.tasks, size: 'max' }).chain((tasks) =>
    fc.record({
      tasks: fc.constant(tasks),
      order: fc.array(fc.nat(999), { minLength: tasks.length, maxLength: tasks.length, size: 'max' }),
      along: alongArbitrary,
    }),
  );
  return fc.record({
    workflows: fc.array(workflow, { minLength: 1, maxLength: size.workflows ?? 2 }),
    commands: fc.array(commandArbitrary(size), { maxLength: size.commands, size: 'max' }),
  });
}

const alongArbitrary = fc.option(fc.integer({ min: 1, max: 12 }));

function taskArbitrary(size: ScenarioSize): fc.Arbitrary<TaskSpec> {
  const parent = fc.record({
    back: fc.oneof({ weight: 3, arbitrary: fc.integer({ min: 1, max: 4 }) }, fc.integer({ min: 1, max: 400 })),
    stored: size.storedParents === true ? fc.boolean() : fc.constant(false),
    requires_success: fc.boolean(),
  });
  const rule = fc.record({
    type: fc.constantFrom<Rule['type']>('concurrency', 'capacity'),
    kind: fc.nat(KINDS - 1),
    fields: fc.subarray<'tenant' | 'region'>(['tenant', 'region']),
    max: fc.integer({ min: 1, max: 4 }),
  });
  const retry = fc.constantFrom(
    null,
    null,
    { max_attempts: 2, base_ms: 1_000, factor: 2, max_ms: 60_000, jitter: 0 },
    { max_attempts: 3, base_ms: 4_000, factor: 3, max_ms: 10_000, jitter: 0 },
  );
  return fc.record({
    kind: fc.nat(KINDS - 1),
    webhook: size.plain === true ? fc.constant(false) : fc.integer({ min: 0, max: 3 }).map((n) => n === 3),
    priority: fc.integer({ min: 0, max: 2 }),
    delay_ms: fc.constantFrom(0, 0, 0, 0, 2_000, 9_000),
    timeout_secs: fc.constantFrom(3_600, 3_600, 5, 20),
    basis: fc.constantFrom<'start' | 'activity'>('start', 'activity'),
    tenant: fc.constantFrom(...TENANTS),
    region: fc.constantFrom(undefined, 1, 2),
    expected_count: fc.constantFrom(null, 0, 2, 4),
    rules: size.rules === false || size.plain === true ? fc.constant([]) : fc.array(rule, { maxLength: 2 }),
    policy: fc.constantFrom<CompletionPolicy>('FailOnFailure', 'FailOnFailure', ...COMPLETION_POLICIES),
    retry: size.plain === true ? fc.constant(null) : retry,
    parents: fc.array(parent, { maxLength: 3 }),
  });
}

function commandArbitrary(size: ScenarioSize): fc.Arbitrary<Command> {
  const pickFrom = (...pools: Pool[]): fc.Arbitrary<Pick> =>
    fc.record({ pool: fc.constantFrom(...pools), n: fc.nat(999) });
  const counts = fc.record({
    new_success: fc.integer({ min: 0, max: 2 }),
    new_failures: fc.integer({ min: 0, max: 1 }),
  });
  const someCounts = fc.option(counts, { freq: 3 });
  const patch =
    size.patches === false
      ? fc.constant(null)
      : fc.option(fc.constantFrom<JsonObject>({ tenant: 'a' }, { tenant: null }, { note: { seen: true } }), {
          freq: 3,
        });
  const speaker = fc.constantFrom<Speaker>(
    'current',
    'current',
    'current',
    'anonymous',
    'anonymous',
    'stale',
    'future',
  );
  const outcome = fc.constantFrom<Outcome>(
    'succeeded',
    'succeeded',
    'succeeded',
    'failed',
    'partially_failed',
    'timed_out',
  );
  const item = fc.record({
    pick: pickFrom('open', 'open', 'open', 'any'),
    speaker,
    outcome,
    counts: someCounts,
    patch,
  });
  const limit = fc.integer({ min: 1, max: 12 });
  const weighted = (weight: number, arbitrary: fc.Arbitrary<Command>): fc.WeightedArbitrary<Command> => ({
    weight,
    arbitrary,
  });
  const picks = (...pools: Pool[]): fc.Arbitrary<Pick[]> =>
    fc.array(pickFrom(...pools), { minLength: 1, maxLength: 3 });
  return fc.oneof(
    weighted(2, fc.constant({ type: 'submit' })),
    weighted(6, fc.record({ type: fc.constant('claim'), kinds: fc.subarray([0, 1, 2], { minLength: 1 }), limit })),
    weighted(3, fc.record({ type: fc.constant('claim_for_delivery'), limit })),
    weighted(
      3,
      fc.record({
        type: fc.constant('deliver'),
        limit,
        verdicts: fc.array(fc.constantFrom('delivered', 'delivered', 'delivered', 'retry', 'dead'), { minLength: 1 }),
      }),
    ),
    weighted(
      8,
      fc.record({
        type: fc.constant('report'),
        items: fc.array(item, { minLength: 1, maxLength: 6 }),
        along: alongArbitrary,
      }),
    ),
    weighted(
      1,
      fc.record({ type: fc.constant('update'), pick: pickFrom('open', 'any'), speaker, counts: someCounts, patch }),
    ),
    weighted(
      2,
      fc.record({
        type: fc.constant('progress'),
        items: fc.array(fc.record({ pick: pickFrom('open', 'any'), counts: counts.filter(isSomething) }), {
          minLength: 1,
          maxLength: 4,
        }),
      }),
    ),
    weighted(1, fc.record({ type: fc.constant('cancel'), picks: picks('any', 'open', 'unstarted') })),
    weighted(2, fc.record({ type: fc.constant('pause'), picks: picks('any', 'open', 'unstarted') })),
    weighted(2, fc.record({ type: fc.constant('resume'), picks: picks('paused', 'paused', 'any') })),
    weighted(
      size.retries === false ? 0 : 2,
      fc.record({ type: fc.constant('retry'), picks: picks('ended_badly', 'ended_badly', 'any') }),
    ),
    weighted(
      size.retries === false ? 0 : 2,
      fc.record({ type: fc.constant('retry_after'), picks: picks('ended', 'ended', 'any') }),
    ),
    weighted(1, fc.record({ type: fc.constant('lose_delivery'), pick: pickFrom('claimed') })),
    weighted(2, fc.record({ type: fc.constant('advance'), ms: fc.constantFrom(500, 1_000, 4_000, 6_000, 31_000) })),
  );
}

function isSomething(counts: Counts): boolean {
  return counts.new_success + counts.new_failures > 0;
}

export interface Submitted {
  workflow_id: WorkflowId;
  tasks: NewTask[];
}

/** Ids that grow by the call, the same ones for the same scenario. */
export function deterministicIds(seed = 1): () => string {
  let byte = seed;
  return uuidV7Generator(
    () => 1_700_000_000_000,
    (into) => into.forEach((_, at) => (into[at] = byte = (byte * 167 + 13) & 0xff)),
  );
}

/**
 * The tasks that a workflow's specification stands for.
 *
 * @param stored ids of earlier tasks, for parents outside of this workflow
 * @param prefix makes kinds and lanes of one scenario its own
 */
export function buildWorkflow(
  spec: WorkflowSpec,
  newId: () => string,
  stored: readonly TaskId[],
  prefix = '',
): Submitted {
  const workflowId = newId();
  const rankAt = spec.tasks
    .map((_, rank) => rank)
    .sort((left, right) => spec.order[left]! - spec.order[right]! || left - right);
  const indexOfRank = new Map(rankAt.map((rank, index) => [rank, index]));
  const tasks = rankAt.map((rank): NewTask => {
    const task = spec.tasks[rank]!;
    const seen = new Set<string>();
    const dependencies: NewTask['dependencies'][number][] = [];
    for (const { back, stored: outside, requires_success } of task.parents) {
      const dependency =
        outside && stored.length > 0
          ? { task_id: stored[back % stored.length]!, requires_success }
          : rank > 0
            ? { index: indexOfRank.get(rank - 1 - ((back - 1) % rank))!, requires_success }
            : null;
      const key = dependency === null ? '' : 'index' in dependency ? String(dependency.index) : dependency.task_id;
      if (dependency === null || seen.has(key)) continue;
      seen.add(key);
      dependencies.push(dependency);
    }
    return { ...definitionOf(task, rank, prefix), id: newId(), dependencies };
  });
  return { workflow_id: workflowId, tasks };
}

function definitionOf(task: TaskSpec, rank: number, prefix: string): Omit<NewTask, 'id' | 'dependencies'> {
  const rules = task.rules.map((rule): Rule => ({
    type: rule.type,
    matcher: { kind: `${prefix}kind-${rule.kind}`, fields: rule.fields },
    max: rule.max,
  }));
  const start: Action = { trigger: 'start', params: { url: 'http://target.example/start', verb: 'Post' } };
  const capacity = rules.some((rule) => rule.type === 'capacity');
  return {
    local_id: `t${rank}`,
    name: `task ${rank}`,
    kind: `${prefix}kind-${task.kind}`,
    ...settingsOf('batch', {}),
    timeout_secs: task.timeout_secs,
    deadline_basis: task.basis,
    priority: task.priority,
    delay_ms: task.delay_ms,
    metadata: {
      ...(task.tenant === undefined ? {} : { tenant: task.tenant }),
      ...(task.region === undefined ? {} : { region: task.region }),
    },
    expected_count: capacity ? (task.expected_count ?? 1) : task.expected_count,
    actions: task.webhook ? [start] : [],
    rules,
    dedupe: [],
    ...(task.policy === undefined ? {} : { policy: task.policy }),
    retry: task.retry,
  };
}
