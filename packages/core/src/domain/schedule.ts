import { isUuid } from '@heddle/base/ids';
import type { JsonObject, JsonValue } from '@heddle/base/json';
import type { TaskState } from '@heddle/base/vocabulary/task-state';
import type { WorkflowWireState } from '@heddle/base/vocabulary/workflow';

/**
 * Overlap policy: while a run of the job is open, an occurrence is dropped, started after it, or started in parallel.
 */
export const OVERLAP_POLICIES = ['skip', 'queue', 'allow'] as const;
export type OverlapPolicy = (typeof OVERLAP_POLICIES)[number];

/** Catch-up policy: of missed occurrences none runs, one run covers all, or each runs. */
export const CATCH_UP_POLICIES = ['skip', 'once', 'all'] as const;
export type CatchUpPolicy = (typeof CATCH_UP_POLICIES)[number];

export const RUN_TRIGGERS = ['schedule', 'manual', 'backfill'] as const;
export type RunTrigger = (typeof RUN_TRIGGERS)[number];

/** `Queued` waits for the run before it, `Running` was handed to the manager; every other state is final. */
export const JOB_RUN_STATES = [
  'Queued',
  'Running',
  'Succeeded',
  'Failed',
  'Timeout',
  'PartiallyFailed',
  'Disabled',
  'Skipped',
] as const satisfies readonly (WorkflowWireState | 'Queued' | 'Skipped')[];
export type JobRunState = (typeof JOB_RUN_STATES)[number];

/** Workflow in its wire form: `{ name?, root }`. */
export type WorkflowDefinition = JsonObject;

/** Workflow that starts by a schedule. Times are milliseconds since the epoch. */
export interface Job {
  id: string;
  name: string;
  cron: string;
  /** IANA name. */
  time_zone: string;
  /** Number of further starts by its schedule; null: unlimited. */
  recurrence: number | null;
  overlap: OverlapPolicy;
  catch_up: CatchUpPolicy;
  paused: boolean;
  /** Why it was paused, if not by a user. */
  paused_reason: string | null;
  /** Null while it is paused, used up, or has no further occurrence. */
  next_run_at: number | null;
  created_at: number;
  updated_at: number;
}

export interface JobWithDefinition extends Job {
  workflow: WorkflowDefinition;
}

export interface NewJob {
  name: string;
  cron: string;
  time_zone: string;
  recurrence: number | null;
  overlap: OverlapPolicy;
  catch_up: CatchUpPolicy;
  paused: boolean;
  workflow: WorkflowDefinition;
}

/** Absent members stay unchanged. */
export type JobChange = Partial<Omit<NewJob, 'paused'>>;

/** Entry of a job's history. */
export interface JobRun {
  id: string;
  job_id: string;
  trigger: RunTrigger;
  /** The occurrence that it stands for; for a manual run the time of the request. */
  scheduled_for: number;
  state: JobRunState;
  reason: string | null;
  /** Null if no workflow was started. */
  workflow_id: string | null;
  started_at: number | null;
  completed_at: number | null;
  /** Tasks of its workflow by state at its end. */
  counts: Partial<Record<TaskState, number>> | null;
}

/** Job in a list, with the latest entries of its history. */
export interface ListedJob extends Job {
  last_run: JobRun | null;
  /** Latest first, as many as were asked for. */
  recent_runs: readonly JobRun[];
}

/** Age after which a due occurrence counts as missed, ms. */
export const LATE_AFTER_MS = 60_000;
/**
 * Maximum number of missed occurrences, the latest ones, that catch-up policy `all` runs, and that may wait at once.
 */
export const CATCH_UP_MAX = 100;

/** Due occurrences of a job. */
export interface DueOccurrences {
  /** Time of the first one, which may be too old to be among `times`. */
  first: number;
  /** Oldest first, at least one: all of them, or the latest if there are very many. */
  times: readonly number[];
  /** Their number; null: too many to count. */
  count: number | null;
}

export interface OpenRuns {
  running: number;
  queued: number;
}

export interface PlannedRun {
  scheduled_for: number;
  state: 'Running' | 'Queued' | 'Skipped';
  reason: string | null;
}

/**
 * Decides on the due occurrences of a job in the order of their times, and how often it may still start. Catch-up comes
 * first (which of them are wanted), then overlap (whether a wanted one may start).
 */
export function planRuns(
  job: Pick<Job, 'recurrence' | 'overlap' | 'catch_up'>,
  due: DueOccurrences,
  open: OpenRuns,
  now: number,
): { runs: PlannedRun[]; recurrence: number | null } {
  const { wanted, missed } = chooseOccurrences(job.catch_up, due, now);
  const runs: PlannedRun[] = missed === null ? [] : [missed];
  const backlog = job.catch_up === 'all' && (due.times.length > 1 || isLate(due, now));
  let { running, queued } = open;
  let { recurrence } = job;
  for (const scheduled_for of wanted) {
    if (recurrence === 0) break;
    const verdict = admit(job.overlap, { running, queued }, backlog);
    runs.push({ scheduled_for, ...verdict });
    if (verdict.state === 'Skipped') continue;
    if (verdict.state === 'Running') running += 1;
    else queued += 1;
    if (recurrence !== null) recurrence -= 1;
  }
  return { runs, recurrence };
}

/** Returns whether a run may start beside the open ones. `backlog`: it catches up a missed occurrence. */
export function admit(
  overlap: OverlapPolicy,
  { running, queued }: OpenRuns,
  backlog = false,
): Pick<PlannedRun, 'state' | 'reason'> {
  if (overlap === 'allow' || running + queued === 0) return { state: 'Running', reason: null };
  const waitMax = backlog ? CATCH_UP_MAX : overlap === 'queue' ? 1 : 0;
  if (queued < waitMax) return { state: 'Queued', reason: null };
  if (queued === 0) return { state: 'Skipped', reason: 'the run before it has not ended' };
  return {
    state: 'Skipped',
    reason: queued === 1 ? 'a run is waiting already' : `${queued} runs are waiting already`,
  };
}

/** Returns the runs of occurrences that passed: all at once, or waiting for one another. */
export function planBackfill(overlap: OverlapPolicy, times: readonly number[], open: OpenRuns): PlannedRun[] {
  const free = open.running + open.queued === 0;
  return times.map((scheduled_for, index) => {
    const starts = overlap === 'allow' || (free && index === 0);
    return { scheduled_for, state: starts ? 'Running' : 'Queued', reason: null };
  });
}

function isLate(due: DueOccurrences, now: number): boolean {
  return now - due.times.at(-1)! > LATE_AFTER_MS;
}

/** Returns the occurrences to run, and one history entry for those dropped. */
function chooseOccurrences(
  policy: CatchUpPolicy,
  due: DueOccurrences,
  now: number,
): { wanted: readonly number[]; missed: PlannedRun | null } {
  const late = isLate(due, now);
  const keep = policy === 'all' ? CATCH_UP_MAX : policy === 'skip' && late ? 0 : 1;
  const wanted = keep === 0 ? [] : due.times.slice(-keep);
  const dropped = due.count === null ? null : due.count - wanted.length;
  if (dropped === 0) return { wanted, missed: null };
  const many = dropped === null ? 'very many occurrences' : `${dropped} occurrence${dropped === 1 ? '' : 's'}`;
  const reason = `${many} from ${iso(due.first)} on passed while no server was running to start them; ${
    policy === 'all'
      ? `the latest ${CATCH_UP_MAX} are caught up`
      : wanted.length === 1
        ? `the run of ${iso(wanted[0]!)} covers them`
        : 'missed occurrences are not caught up'
  }`;
  return { wanted, missed: { scheduled_for: due.first, state: 'Skipped', reason } };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

/** Finds ids that a definition must not hold: each run of the workflow needs new ones. */
export function fixedIds(root: JsonValue | undefined): string[] {
  const faults: string[] = [];
  const open: { node: JsonValue | undefined; path: string }[] = [{ node: root, path: 'root' }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node, path } = next;
    if (typeof node !== 'object' || node === null || Array.isArray(node)) continue;
    if (typeof node['id'] === 'string' && isUuid(node['id'])) {
      faults.push(`${path}.id: must not be a UUID in a job, since each run creates its own; use a name`);
    }
    const children = node['children'];
    if (Array.isArray(children)) {
      for (const [index, child] of children.entries()) open.push({ node: child, path: `${path}.children[${index}]` });
    }
  }
  return faults;
}
