/** The batch of the example, as submitted to `POST /task`. */
import type { NewTaskDto } from '@heddle/client';
import type { Shard } from './files.ts';

export interface Plan {
  shards: readonly Shard[];
  /** URL of the example's service. */
  serviceUrl: string;
  /** Proves to the service that the submitter of the batch ordered a call. */
  key: string;
  /** Distinguishes this run's tasks from those of other runs, for the rules. */
  run: string;
  /** Delay before a failed task is retried, seconds. */
  retrySecs: number;
}

/** Concurrent hash tasks. */
export const HASH_TASKS_AT_ONCE = 2;

type Dependencies = NonNullable<NewTaskDto['dependencies']>;

/** A parent that must succeed. */
const needs = (...ids: string[]): Dependencies => ids.map((id) => ({ id, requires_success: true }));
/** A parent that only has to end. */
const after = (...ids: string[]): Dependencies => ids.map((id) => ({ id, requires_success: false }));

/**
 * 6 + 3 tasks per shard: list, split, then hash, measure and their sum for each shard; duplicates, languages, check,
 * report.
 */
export function buildDag(plan: Plan): NewTaskDto[] {
  const each = plan.shards.map((_shard, index) => index);
  const hashes = each.map((index) => `hash-${index}`);
  const sums = each.map((index) => `sum-${index}`);
  const report = step(plan, 'report', 'write the report', {}, [...needs('languages', 'duplicates'), ...after('check')]);
  return [
    step(plan, 'list', 'list files', {}, []),
    step(plan, 'split', 'split by directory', { shards: plan.shards }, needs('list')),
    ...plan.shards.flatMap((shard, index) => shardTasks(plan, shard, index)),
    step(plan, 'duplicates', 'find duplicates', { shards: plan.shards.length }, needs(...hashes)),
    step(plan, 'languages', 'total by language', {}, needs(...sums)),
    step(plan, 'check', 'check a sample', { shards: plan.shards.length }, needs(...hashes)),
    {
      ...report,
      on_success: [action(plan, '/announce', { text: 'the report is written' })],
      on_failure: [action(plan, '/announce', { text: 'the report could not be written' })],
    },
  ];
}

/** A diamond: the shard's list leads to hashes and to measures, and both lead to its sum. */
function shardTasks(plan: Plan, shard: Shard, index: number): NewTaskDto[] {
  const total = plan.shards.reduce((sum, { files }) => sum + files, 0);
  const expected_count = Math.max(1, shard.files);
  // The longest path through the graph first.
  const priority = plan.shards.length - index;
  const matcher = (kind: string) => ({ kind, status: 'Running' as const, fields: ['run'] });
  return [
    {
      ...step(plan, `hash-${index}`, `hash ${shard.name}`, { shard: index }, needs('split')),
      expected_count,
      priority,
      rules: [{ type: 'Concurrency', matcher: matcher(kindOf('hash')), max_concurrency: HASH_TASKS_AT_ONCE }],
    },
    {
      ...step(plan, `measure-${index}`, `measure ${shard.name}`, { shard: index }, needs('split')),
      expected_count,
      priority,
      // Another shard is admitted once less than half of all files are left to the running ones.
      rules: [
        { type: 'Capacity', matcher: matcher(kindOf('measure')), max_capacity: Math.max(1, Math.ceil(total / 2)) },
      ],
    },
    step(plan, `sum-${index}`, `sum up ${shard.name}`, {}, needs(`hash-${index}`, `measure-${index}`)),
  ];
}

function kindOf(name: string): string {
  return `inventory.${name}`;
}

function step(
  plan: Plan,
  id: string,
  name: string,
  input: Record<string, unknown>,
  dependencies: Dependencies,
): NewTaskDto {
  const what = id.replace(/-\d+$/, '');
  return {
    id,
    name,
    kind: kindOf(what),
    // Seconds without activity; a task whose worker is gone is then retried.
    timeout: 30,
    retry: { max_attempts: 3, backoff_secs: plan.retrySecs, jitter: 0 },
    metadata: { run: plan.run },
    on_start: action(plan, `/run/${what}`, input),
    dependencies,
  };
}

function action(plan: Plan, path: string, body: Record<string, unknown>) {
  const headers = { authorization: `Bearer ${plan.key}` };
  return {
    kind: 'Webhook' as const,
    params: { url: `${plan.serviceUrl}${path}`, verb: 'Post' as const, body, headers },
  };
}
