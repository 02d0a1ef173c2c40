import type { CompleteTaskMessage, CompletionState, HeartbeatTaskMessage } from '../../domain/message.ts';
import type { Outcome } from '@heddle/base/vocabulary/task-state';
import { findRoots } from '../../store/manager-reads.ts';
import type { HeartbeatResult, Report, TransitionResult } from '../port.ts';
import { applyOnce } from './apply-once.ts';
import type { Batch, Parsed, Verdict } from './batch.ts';
import type { ManagerContext } from './context.ts';

const OUTCOME = {
  Succeeded: 'succeeded',
  Failed: 'failed',
  Timeout: 'timed_out',
  PartiallyFailed: 'partially_failed',
} as const satisfies Record<CompletionState, Outcome>;

/**
 * Step 5: applies the messages of workers. Presence and heartbeats come first, since the first heartbeat starts an
 * attempt that may end in the same batch. The root of every completion is reevaluated, even if applying it failed.
 */
export async function processTaskCompletions(context: ManagerContext, batch: Batch, now: number): Promise<void> {
  await noteWorkers(context, batch, now);
  await applyOnce(context, batch, now, batch.of('HeartbeatTask'), {
    // Repeated heartbeats without counts have no effect, and are too many to remember.
    remembers: ({ new_success, new_failures }) => new_success > 0 || new_failures > 0,
    apply: async (engine, beats) => (await engine.heartbeat(beats.map(beatOf))).map(verdictOfBeat),
  });
  const completions = batch.of('CompleteTask');
  await addRoots(context, batch, completions);
  await applyOnce(context, batch, now, completions, {
    async apply(engine, messages) {
      const outcomes = await engine.report(messages.map(reportOf));
      return outcomes.map(({ result }, index) => verdictOfReport(result, messages[index]!));
    },
  });
}

async function noteWorkers(context: ManagerContext, batch: Batch, now: number): Promise<void> {
  await applyOnce(context, batch, now, batch.of('WorkerSeen'), {
    remembers: () => false,
    async apply(engine, workers) {
      await engine.workersSeen(workers.map(({ worker, kinds, concurrency }) => ({ worker, kinds, concurrency })));
      return workers.map(() => ({ outcome: 'applied' }));
    },
  });
}

async function addRoots(
  context: ManagerContext,
  batch: Batch,
  completions: readonly Parsed<CompleteTaskMessage>[],
): Promise<void> {
  const rootless: string[] = [];
  for (const { message } of completions) {
    batch.ended.add(message.task_id);
    if (message.root_container_id === null) rootless.push(message.task_id);
    else batch.roots.add(message.root_container_id);
  }
  if (rootless.length === 0) return;
  for (const root of await findRoots(context.database, rootless)) batch.roots.add(root);
}

function beatOf({ task_id, attempt, new_success, new_failures }: HeartbeatTaskMessage) {
  return { task_id, attempt, new_success, new_failures };
}

/** Accepts unchanged heartbeats: workers learn elsewhere that they must stop. */
function verdictOfBeat(result: HeartbeatResult): Verdict {
  return { outcome: result === 'applied' ? 'applied' : 'refused' };
}

function reportOf(message: CompleteTaskMessage): Report {
  const { task_id, attempt, state, reason, data, expected_task_count, final, disable, exit_code } = message;
  return {
    task_id,
    attempt,
    outcome: OUTCOME[state],
    ...(reason === null ? {} : { reason }),
    ...(data === null ? {} : { result: data }),
    ...(final ? { final } : {}),
    ...(exit_code === undefined ? {} : { exit_code }),
    ...(disable === undefined || state !== 'Succeeded' ? {} : { disable }),
    ...(expected_task_count === null ? {} : { expected_created: expected_task_count }),
  };
}

function verdictOfReport(result: TransitionResult, { task_id, attempt }: CompleteTaskMessage): Verdict {
  switch (result) {
    case 'applied':
    case 'retrying':
      return { outcome: 'applied' };
    case 'unchanged':
      return { outcome: 'repeated' };
    case 'conflict':
    case 'stale_attempt':
      return { outcome: 'refused' };
    case 'not_started':
      // Its attempt lost its claim, and the next one has not begun.
      if (attempt !== null) return { outcome: 'refused' };
      return { outcome: 'dead_lettered', reason: `the task ${task_id} has not started` };
    case 'not_found':
      return { outcome: 'dead_lettered', reason: `there is no task ${task_id}` };
  }
}
