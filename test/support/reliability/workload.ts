import type { TaskState } from '@heddle/base/vocabulary/task-state';
import type { Random } from '@heddle/base/random';

/** The instruction for the target of a task's start; it travels as the body of the webhook. */
export interface WorkPlan {
  kind: string;
  tenant: string;
  /** How long the work takes, milliseconds. */
  work_ms: number;
  /** Units to count, in two calls. */
  units: number;
  /** Attempts that fail before one succeeds. */
  failing_attempts: number;
  /** Whether the first try of the start is answered 503. */
  refuses_first: boolean;
  /** Whether the work is done before the start is answered. */
  reports_early: boolean;
}

/** What must have become of a task in the end, whatever happened on the way. */
export interface Expected {
  batch: number;
  local_id: string;
  state: TaskState;
  attempts: number;
  units: number;
  plan: WorkPlan;
}

export interface WireRule {
  type: 'Concurrency' | 'Capacity';
  matcher: { kind: string; status: 'Running'; fields: string[] };
  max_concurrency?: number;
  max_capacity?: number;
}

export interface WireTask extends Record<string, unknown> {
  id: string;
  kind: string;
  dependencies: { id: string; requires_success: boolean }[];
  rules: WireRule[];
}

export interface Workload {
  batches: WireTask[][];
  /** By `BATCH/LOCAL_ID`. */
  expected: Map<string, Expected>;
}

const concurrency = (kind: string, fields: string[], max: number): WireRule => ({
  type: 'Concurrency',
  matcher: { kind, status: 'Running', fields },
  max_concurrency: max,
});

/** Every task of these kinds carries all of its kind's rules, so that the limits hold at every moment. */
export const LIMITS = {
  render: { all: 10, tenant: 4 },
  encode: { all: 8, tenantCapacity: 30 },
} as const;

const RULES: Readonly<Record<string, WireRule[]>> = {
  render: [concurrency('render', [], LIMITS.render.all), concurrency('render', ['tenant'], LIMITS.render.tenant)],
  encode: [
    concurrency('encode', [], LIMITS.encode.all),
    {
      type: 'Capacity',
      matcher: { kind: 'encode', status: 'Running', fields: ['tenant'] },
      max_capacity: LIMITS.encode.tenantCapacity,
    },
  ],
  // Starts only while few of another kind run; takes none of its slots.
  watch: [concurrency('render', [], 6)],
  // Half of them: the others are counted by it all the same.
  mixed: [concurrency('mixed', [], 6)],
  plain: [],
};
const KINDS = ['render', 'render', 'encode', 'encode', 'watch', 'mixed', 'mixed', 'plain', 'plain', 'plain'];
const MAX_ATTEMPTS = 3;

/** Batches of tasks with random dependencies and rules, with what must become of each. */
export function makeWorkload(batches: number, tasksPerBatch: number, targetUrl: string, random: Random): Workload {
  const expected = new Map<string, Expected>();
  const made = Array.from({ length: batches }, (_, batch) => {
    const states: boolean[] = [];
    return Array.from({ length: tasksPerBatch }, (__, index): WireTask => {
      const plan = makePlan(random);
      const retried = plan.failing_attempts < MAX_ATTEMPTS ? plan.failing_attempts > 0 : chance(random, 0.5);
      const dependencies = parentsOf(index, random);
      const blocked = dependencies.some(({ id, requires_success }) => requires_success && !states[Number(id)]!);
      const succeeds = !blocked && plan.failing_attempts < MAX_ATTEMPTS;
      states.push(succeeds);
      const attempts = blocked ? 0 : succeeds ? plan.failing_attempts + 1 : retried ? MAX_ATTEMPTS : 1;
      const state = succeeds ? 'succeeded' : 'failed';
      const local_id = String(index);
      expected.set(`${batch}/${local_id}`, { batch, local_id, state, attempts, units: attempts * plan.units, plan });
      return wireTask(local_id, plan, dependencies, retried, targetUrl, random);
    });
  });
  return { batches: made, expected };
}

function makePlan(random: Random): WorkPlan {
  const kind = pick(KINDS, random);
  return {
    kind,
    tenant: pick(['a', 'b', 'c'], random),
    work_ms: Math.floor(random.next() * 20),
    units: kind === 'encode' ? 4 + Math.floor(random.next() * 8) : chance(random, 0.3) ? 2 : 0,
    failing_attempts: chance(random, 0.02) ? MAX_ATTEMPTS : chance(random, 0.1) ? 1 + Math.floor(random.next() * 2) : 0,
    refuses_first: chance(random, 0.02),
    reports_early: chance(random, 0.1),
  };
}

function parentsOf(index: number, random: Random): WireTask['dependencies'] {
  const parents = new Set<number>();
  for (let n = chance(random, 0.4) ? 0 : 1 + Math.floor(random.next() * 3); n > 0 && index > 0; n -= 1) {
    parents.add(Math.floor(random.next() * index));
  }
  return [...parents].map((parent) => ({ id: String(parent), requires_success: chance(random, 0.6) }));
}

function wireTask(
  local_id: string,
  plan: WorkPlan,
  dependencies: WireTask['dependencies'],
  retried: boolean,
  targetUrl: string,
  random: Random,
): WireTask {
  const webhook = (path: string, body: unknown): object => ({
    kind: 'Webhook',
    params: { url: `${targetUrl}/${path}`, verb: 'Post', body },
  });
  return {
    id: local_id,
    name: `${plan.kind} ${local_id}`,
    kind: plan.kind,
    timeout: 600,
    metadata: { tenant: plan.tenant },
    priority: Math.floor(random.next() * 3),
    dependencies,
    rules: plan.kind === 'mixed' && chance(random, 0.5) ? [] : RULES[plan.kind]!,
    on_start: webhook('start', plan),
    on_success: [webhook('end', { trigger: 'success' })],
    on_failure: [webhook('end', { trigger: 'failure' })],
    ...(plan.kind === 'encode' ? { expected_count: plan.units } : {}),
    ...(retried ? { retry: { max_attempts: MAX_ATTEMPTS, backoff_secs: 0.02, max_backoff_secs: 0.1 } } : {}),
  };
}

function chance(random: Random, probability: number): boolean {
  return random.next() < probability;
}

function pick<T>(items: readonly T[], random: Random): T {
  return items[Math.floor(random.next() * items.length)]!;
}
