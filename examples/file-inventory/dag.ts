/** The batch of the example: what is submitted to `POST /task`. */
import type { NewTaskDto } from '../../src/http/wire/new-task.ts';
import type { Shard } from './files.ts';

export interface Plan {
  shards: readonly Shard[];
  /** Where the example's service listens. */
  serviceUrl: string;
  /** Proves to the service that a call was ordered by the one who submitted the batch. */
  key: string;
  /** Sets this run's tasks apart from those of other runs, for the rules. */
  run: string;
  /** Wait before a failed task is tried again, seconds. */
  retrySecs: number;
}

/** Hash tasks that run at once. */
export const HASH_TASKS_AT_ONCE = 2;

type Dependencies = NonNullable<NewTaskDto['dependencies']>;

/** A parent whose success is needed. */
const needs = (...ids: string[]): Dependencies => ids.map((id) => ({ id, requires_success: true }));
/** A parent that only has to end, however it does. */
const after = (...ids: string[]): Dependencies => ids.map((id) => ({ id, requires_success: false }));

/** 6 + 3 tasks a shard: list, split, then per shard hash, measure and their sum; duplicates, languages, check, report. */
export function buildDag(plan: Plan): NewTaskDto[] {
  const each = plan.shards.map((_shard, index) => index);
  const hashes = each.map((index) => `hash-${index}`);
  const sums = each.map((index) => `sum-${index}`);
  const report = step(plan, 'report', 'write the report', {}, [...needs('languages', 'duplicates'), ...after('check')]);
  return [
    step(plan, 'list', 'list the files', {}, []),
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
  // The longest way through the graph first.
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
      // Another shard is admitted once less than half of all files are left to those that run.
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
    // Seconds without a sign of life; a task whose worker is gone is then tried again.
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
