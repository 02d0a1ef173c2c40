import type { Clock } from '@heddle/base/clock';
import { detailedMessageOf, errorOf } from '@heddle/base/thrown';
import type { MANAGER_STEPS } from '../../metrics/metrics.ts';
import type { ReceivedMessage } from '../../queue/port.ts';
import { forgetOldMessages } from '../../store/inbox.ts';
import { dispatchedKinds } from '../../store/manager-reads.ts';
import type { Batch } from './batch.ts';
import { completeGeneratorTasks } from './complete-generator-tasks.ts';
import type { ManagerContext, StepResult } from './context.ts';
import { createTaskCollections } from './create-task-collections.ts';
import { createTasksFromGenerators } from './create-tasks-from-generators.ts';
import { faultOf } from './faults.ts';
import { finalizeTaskCollections } from './finalize-task-collections.ts';
import { recordDeadLetters } from './record-dead-letters.ts';
import { parseMessages } from './parse-messages.ts';
import { processTaskCompletions } from './process-task-completions.ts';
import { processTaskTimeouts } from './process-task-timeouts.ts';
import { scheduleNextTasks } from './schedule-next-tasks.ts';
import { startDueTaskCollections } from './start-due-task-collections.ts';

type ManagerStep = (typeof MANAGER_STEPS)[number];

/** Result of one run. */
export interface ManagerRun {
  /** Ids of messages to redeliver. */
  failed: string[];
  /** Messages to dead-letter, each with the reason. */
  deadLettered: { id: string; reason: string }[];
  timed_out: number;
  generators_completed: number;
  dispatched: number;
  finalized: number;
  jobs_started: number;
  /** Whether a time-driven step stopped at its limit, so that the next run should follow at once. */
  busy: boolean;
  /**
   * Error that stopped the run: the database became unavailable, and every message not dead-lettered is redelivered.
   */
  error: Error | null;
}

export interface RunOptions {
  /**
   * Whether the time-driven steps run as well (timeouts, ends of trees, due jobs); true by default. A process that
   * receives many batches per second need not run them for each.
   */
  upkeep?: boolean;
  /**
   * Whether the run requests runners and dispatches ready tasks; true by default. A process that handles many batches need
   * not do so in each, if something else does after them.
   */
  dispatch?: boolean;
}

/**
 * Orchestrator that takes messages through nine steps in a fixed order. It keeps no state between runs, so any number
 * of managers, in any number of processes, may share one queue and one database.
 */
export interface Manager {
  /**
   * Handles a batch. Every step takes all its messages as one set; a message that fails is listed in the result and
   * does not hold back any other.
   *
   * @param now milliseconds since the epoch
   */
  run(messages: readonly ReceivedMessage[], now: number, options?: RunOptions): Promise<ManagerRun>;
  /** Resolves when the database answers; call it after a run that failed, before the next one. */
  ping(): Promise<void>;
  /** Kinds whose ready tasks step 7 dispatches. */
  dispatchedKinds(): Promise<string[]>;
  /**
   * Reads workers' messages that the queue service dead-lettered by itself, so that their tasks end; returns their
   * number.
   */
  recordDeadLetters(): Promise<number>;
  /** Deletes at most `limit` messages handled before this time; returns their number. */
  forgetMessages(before: number, limit: number): Promise<number>;
}

export interface ManagerOptions extends ManagerContext {
  clock: Clock;
}

export function createManager(options: ManagerOptions): Manager {
  return {
    run: (messages, now, { upkeep = true, dispatch = true } = {}) => run(options, messages, now, { upkeep, dispatch }),
    ping: () => options.database.ping(),
    dispatchedKinds: () => dispatchedKinds(options.database),
    recordDeadLetters: () => recordDeadLetters(options),
    forgetMessages: (before, limit) => forgetOldMessages(options.database, before, limit),
  };
}

async function run(
  options: ManagerOptions,
  messages: readonly ReceivedMessage[],
  now: number,
  asked: Required<RunOptions>,
): Promise<ManagerRun> {
  const startedAt = options.clock.monotonic();
  const counts = { timed_out: 0, generators_completed: 0, dispatched: 0, finalized: 0, jobs_started: 0, busy: false };
  const batch = parseMessages(options, messages);
  let failure: Error | null = null;
  try {
    await runSteps(options, batch, now, asked, counts);
  } catch (error) {
    failure = errorOf(error);
    batch.postponeAll(detailedMessageOf(error));
  }
  observe(options, batch, options.clock.monotonic() - startedAt);
  return { failed: batch.failed, deadLettered: batch.deadLettered, ...counts, error: failure };
}

type Counts = Omit<ManagerRun, 'failed' | 'deadLettered' | 'error'>;

/** Runs the steps in an order that keeps state current: overdue tasks end before late reports of them are applied. */
async function runSteps(
  context: ManagerContext,
  batch: Batch,
  now: number,
  { upkeep, dispatch }: Required<RunOptions>,
  counts: Counts,
): Promise<void> {
  const step = async (name: ManagerStep, work: () => Promise<StepResult>): Promise<number> => {
    const { count, more } = await guard(context, name, work);
    counts.busy ||= more;
    return count;
  };
  if (upkeep) counts.timed_out = await step('process_task_timeouts', () => processTaskTimeouts(context));
  await createTaskCollections(context, batch, now);
  await createTasksFromGenerators(context, batch, now);
  await processTaskCompletions(context, batch, now);
  if (upkeep || batch.mayCompleteGenerators) {
    counts.generators_completed = await step('complete_generator_tasks', () => completeGeneratorTasks(context, batch));
  }
  counts.dispatched = await step('schedule_next_tasks', () => scheduleNextTasks(context, batch, dispatch));
  if (!upkeep) return;
  counts.finalized = await step('finalize_task_collections', () => finalizeTaskCollections(context));
  counts.jobs_started = await step('start_due_task_collections', () => startDueTaskCollections(context));
}

/** Runs a time-driven step; if it fails, the batch goes on and the step runs again in the next. */
async function guard(context: ManagerContext, step: ManagerStep, work: () => Promise<StepResult>): Promise<StepResult> {
  try {
    return await work();
  } catch (error) {
    if (faultOf(error) === 'away') throw error;
    context.metrics?.managerStepFailures.inc({ step });
    context.log.error({ err: error, step }, 'manager step failed; retrying in the next run');
    return { count: 0, more: false };
  }
}

function observe({ metrics }: ManagerContext, batch: Batch, durationMs: number): void {
  if (metrics === undefined) return;
  for (const { type, outcome, count } of batch.counts()) metrics.managerMessages.inc({ type, outcome }, count);
  metrics.managerRunSeconds.observe(durationMs / 1000);
}
