import { collectDefaultMetrics, Registry } from 'prom-client';

import type { ManagerMessage } from '../domain/message.ts';
import {
  BATCH_WIRE_STATE,
  BATCH_WIRE_STATES,
  TASK_STATES,
  type BatchWireState,
  type TaskState,
} from '@heddle/base/vocabulary/task-state';
import { CappedCounter, CappedHistogram, CappedLabel, SnapshotGauge } from '@heddle/base/capped-label';
import { MetricFactory } from '@heddle/base/metric-factory';
import { runnerMetrics } from './runner-metrics.ts';

/** Known label values, whose series exist with 0 from the first scrape. */
export const TASK_OUTCOMES = ['success', 'failure'] as const;
export const PARENT_OUTCOMES = ['success', 'failure', 'canceled'] as const;
export const WEBHOOK_TRIGGERS = ['start', 'end', 'cancel', 'notify'] as const;
export const WEBHOOK_OUTCOMES = ['success', 'failure'] as const;
export const BREAKER_STATES = ['closed', 'open', 'half_open'] as const;
export const DELIVERY_STATES = ['held', 'due', 'dead'] as const;
export const QUEUE_STATES = ['visible', 'in_flight', 'delayed', 'dead'] as const;
/** Outcomes of an occurrence of a job. */
export const JOB_OUTCOMES = ['started', 'queued', 'skipped', 'paused'] as const;
export const LATE_REPORT_KINDS = ['repeated', 'conflict', 'stale_attempt'] as const;

export const MANAGER_MESSAGE_TYPES = [
  'CreateTaskCollection',
  'CreateTask',
  'CompleteTask',
  'HeartbeatTask',
  'WorkerSeen',
  'unknown',
] as const satisfies readonly (ManagerMessage['type'] | 'unknown')[];
/**
 * Outcomes of a message: `applied`; `repeated` (a duplicate, without a second effect); `refused` (too late to change
 * anything); `dead_lettered` (dead-lettered); `failed` (will be redelivered).
 */
export const MANAGER_MESSAGE_OUTCOMES = ['applied', 'repeated', 'refused', 'dead_lettered', 'failed'] as const;
/** Time-driven steps of the manager, which cannot fail because of a single message. */
export const MANAGER_STEPS = [
  'process_task_timeouts',
  'complete_generator_tasks',
  'schedule_next_tasks',
  'finalize_task_collections',
  'start_due_task_collections',
] as const;

/** From a fast handler to the longest timeout of a task, a day. */
const TASK_SECONDS = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400];
const WEBHOOK_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const FAST_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const TASKS_A_LOOP = [0, 1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500];

export interface MetricsOptions {
  /** Maximum distinct values of a user-chosen label (kinds, lanes); further ones count as `other`. */
  labelCap?: number;
  /** Whether to add CPU, memory, event loop and garbage collection metrics of this process; true by default. */
  processMetrics?: boolean;
}

export type Metrics = ReturnType<typeof createMetrics>;

/** Creates all metrics of the system in their own registry; `registry.metrics()` returns the text of a scrape. */
export function createMetrics(options: MetricsOptions = {}) {
  const registry = new Registry();
  const factory = new MetricFactory(registry);
  const kinds = new CappedLabel(options.labelCap);
  if (options.processMetrics !== false) collectDefaultMetrics({ register: registry });
  return {
    registry,
    ...taskMetrics(factory, kinds),
    ...dependencyMetrics(factory),
    ...webhookMetrics(factory),
    ...workerMetrics(factory),
    ...databaseMetrics(factory),
    ...heddleMetrics(factory, new CappedLabel(options.labelCap)),
    ...managerMetrics(factory),
    ...queueMetrics(factory, new CappedLabel(options.labelCap)),
    ...runnerMetrics(factory, new CappedLabel(options.labelCap)),
    ...httpMetrics(factory),
  };
}

function taskMetrics(make: MetricFactory, kinds: CappedLabel) {
  const byStatus = make.gauge('tasks_by_status', 'Tasks that stand in each status now', ['status']);
  const setTasksByState = (byState: Readonly<Record<TaskState, number>>): void => {
    byStatus.reset();
    for (const status of BATCH_WIRE_STATES) byStatus.set({ status }, 0);
    for (const state of TASK_STATES) byStatus.inc({ status: BATCH_WIRE_STATE[state] }, byState[state]);
  };
  setTasksByState(Object.fromEntries(TASK_STATES.map((state) => [state, 0])) as Record<TaskState, number>);
  return {
    tasksCreated: make.counter('tasks_created_total', 'Tasks that were created'),
    tasksCompleted: new CappedCounter(
      make.counter('tasks_completed_total', 'Tasks that ended, by how (success, failure) and kind', [
        'outcome',
        'kind',
      ]),
      { kind: kinds },
    ),
    tasksCancelled: make.counter('tasks_cancelled_total', 'Tasks that were canceled'),
    tasksTimedOut: make.counter('tasks_timed_out_total', 'Tasks whose deadline passed'),
    taskStatusTransitions: statusTransitions(make),
    /** Sets `tasks_by_status`, summed by wire status. */
    setTasksByState,
    runningTasksByKind: new SnapshotGauge(
      make.gauge('running_tasks_by_kind', 'Tasks that run now, by kind', ['kind']),
      'kind',
      kinds,
    ),
    taskDurationSeconds: new CappedHistogram(
      make.histogram('task_duration_seconds', 'Time from the start of a task until it ends', TASK_SECONDS, [
        'kind',
        'outcome',
      ]),
      { kind: kinds },
    ),
    taskWaitSeconds: new CappedHistogram(
      make.histogram('task_wait_seconds', 'Time from ready to started, the claim included', TASK_SECONDS, ['kind']),
      { kind: kinds },
    ),
    tasksBlockedByConcurrency: make.counter(
      'tasks_blocked_by_concurrency_total',
      'Times a task that was ready had to wait because of a rule',
    ),
  };
}

/** State changes of the state machine, retries of ended tasks included. */
const STATUS_TRANSITIONS = {
  Waiting: ['Pending', 'Failure', 'Paused', 'Canceled'],
  Pending: ['Claimed', 'Running', 'Paused', 'Canceled'],
  Claimed: ['Running', 'Pending', 'Success', 'Failure', 'Paused', 'Canceled'],
  Running: ['Success', 'Failure', 'Pending', 'Paused', 'Canceled'],
  Paused: ['Waiting', 'Pending', 'Claimed', 'Running', 'Success', 'Failure', 'Canceled'],
  Success: [],
  Failure: ['Waiting', 'Pending'],
  Canceled: ['Waiting', 'Pending'],
} as const satisfies Record<BatchWireState, readonly BatchWireState[]>;

function statusTransitions(make: MetricFactory) {
  const transitions = make.counter('task_status_transitions_total', 'Changes of status', ['from_status', 'to_status']);
  for (const [from_status, targets] of Object.entries(STATUS_TRANSITIONS)) {
    for (const to_status of targets) transitions.inc({ from_status, to_status }, 0);
  }
  return transitions;
}

function dependencyMetrics(make: MetricFactory) {
  const propagations = make.counter(
    'dependency_propagations_total',
    'Dependencies through which the end of a parent was passed on to a child',
    ['parent_outcome'],
  );
  for (const parent_outcome of PARENT_OUTCOMES) propagations.inc({ parent_outcome }, 0);
  return {
    tasksWithDependencies: make.counter('tasks_with_dependencies_total', 'Tasks that were created with dependencies'),
    dependencyPropagations: propagations,
    tasksUnblocked: make.counter('tasks_unblocked_total', 'Tasks that became ready because their last parent ended'),
    tasksFailedByDependency: make.counter(
      'tasks_failed_by_dependency_total',
      'Tasks that failed because a parent whose success they require did not succeed',
    ),
  };
}

function webhookMetrics(make: MetricFactory) {
  const executions = make.counter('webhook_executions_total', 'Webhook deliveries that came to an end', [
    'trigger',
    'outcome',
  ]);
  const attempts = make.counter('webhook_attempts_total', 'Tries of webhook deliveries, failed ones included', [
    'trigger',
    'outcome',
  ]);
  const skips = make.counter(
    'webhook_idempotent_skips_total',
    'Webhook deliveries left out because the same one was made already',
    ['trigger'],
  );
  const seconds = make.histogram('webhook_duration_seconds', 'Time of one try of a webhook', WEBHOOK_SECONDS, [
    'trigger',
  ]);
  for (const trigger of WEBHOOK_TRIGGERS) {
    skips.inc({ trigger }, 0);
    seconds.zero({ trigger });
    for (const outcome of WEBHOOK_OUTCOMES) {
      executions.inc({ trigger, outcome }, 0);
      attempts.inc({ trigger, outcome }, 0);
    }
  }
  return {
    webhookExecutions: executions,
    webhookAttempts: attempts,
    webhookDurationSeconds: seconds,
    webhookIdempotentSkips: skips,
    webhookIdempotentConflicts: make.counter(
      'webhook_idempotent_conflicts_total',
      'Webhook deliveries that another process had claimed meanwhile',
    ),
  };
}

function workerMetrics(make: MetricFactory) {
  return {
    workerLoopIterations: make.counter('worker_loop_iterations_total', 'Passes of the worker loop'),
    workerLoopDurationSeconds: make.histogram(
      'worker_loop_duration_seconds',
      'Time of one pass of the worker loop',
      FAST_SECONDS,
    ),
    tasksProcessedPerLoop: make.histogram(
      'tasks_processed_per_loop',
      'Tasks that one pass of the worker loop handled',
      TASKS_A_LOOP,
    ),
  };
}

function databaseMetrics(make: MetricFactory) {
  const transitions = make.counter(
    'circuit_breaker_state_transitions_total',
    "Changes of state of the connection pool's circuit breaker",
    ['to_state'],
  );
  for (const to_state of BREAKER_STATES) transitions.inc({ to_state }, 0);
  return {
    dbQueryDurationSeconds: make.histogram('db_query_duration_seconds', 'Time of one query, by name', FAST_SECONDS, [
      'query',
    ]),
    slowQueries: make.counter('slow_queries_total', 'Queries that took longer than the threshold, by name', ['query']),
    tasksDbSaveFailures: make.counter('tasks_db_save_failures_total', 'Writes of tasks that failed after all retries'),
    batchUpdateFailures: make.counter('batch_update_failures_total', 'Shared commits of counters that failed'),
    circuitBreakerStateTransitions: transitions,
    circuitBreakerRejections: make.counter(
      'circuit_breaker_rejections_total',
      'Queries that the open circuit breaker refused',
    ),
  };
}

function heddleMetrics(make: MetricFactory, lanes: CappedLabel) {
  const deliveries = make.gauge('heddle_deliveries', 'Webhook deliveries in the outbox, by state', ['state']);
  const lateReports = make.counter(
    'heddle_late_reports_total',
    'Reports that changed nothing: repeated, contradictory, or of an ended attempt',
    ['kind'],
  );
  for (const kind of LATE_REPORT_KINDS) lateReports.inc({ kind }, 0);
  for (const state of DELIVERY_STATES) deliveries.set({ state }, 0);
  return {
    readyTasks: new SnapshotGauge(
      make.gauge('heddle_ready_tasks', 'Tasks that are ready and not claimed, by lane', ['lane']),
      'lane',
      lanes,
    ),
    deliveries,
    lateReports,
    claimsExpired: make.counter(
      'heddle_claims_expired_total',
      'Claims that expired before the task was started, and attempts whose worker was lost',
    ),
    oldestSnapshotSeconds: make.gauge(
      'heddle_oldest_snapshot_seconds',
      'Age of the oldest open transaction of the database, which keeps dead rows from being removed',
      [],
    ),
    notifications: make.counter('heddle_notifications_total', 'Notifications received from the database'),
  };
}

function managerMetrics(make: MetricFactory) {
  const messages = make.counter(
    'heddle_manager_messages_total',
    'Messages that the manager received, by type and what became of them',
    ['type', 'outcome'],
  );
  const failures = make.counter(
    'heddle_manager_step_failures_total',
    'Steps of the manager that failed for no fault of a message',
    ['step'],
  );
  for (const type of MANAGER_MESSAGE_TYPES) {
    for (const outcome of MANAGER_MESSAGE_OUTCOMES) messages.inc({ type, outcome }, 0);
  }
  for (const step of MANAGER_STEPS) failures.inc({ step }, 0);
  return {
    managerMessages: messages,
    managerStepFailures: failures,
    managerRunSeconds: make.histogram(
      'heddle_manager_run_seconds',
      'Time in which the manager took a batch of messages through its steps',
      FAST_SECONDS,
    ),
  };
}

function queueMetrics(make: MetricFactory, queues: CappedLabel) {
  const jobs = make.counter(
    'heddle_job_occurrences_total',
    'Occurrences of jobs that this server came to, by what became of them, and jobs that it paused',
    ['outcome'],
  );
  for (const outcome of JOB_OUTCOMES) jobs.inc({ outcome }, 0);
  const messages = make.gauge('heddle_queue_messages', 'Messages of each queue, by state, dead letters included', [
    'queue',
    'state',
  ]);
  return {
    jobOccurrences: jobs,
    /** Sets `heddle_queue_messages`; removes queues that are not listed. */
    setQueueDepths(depths: ReadonlyMap<string, Readonly<Record<(typeof QUEUE_STATES)[number], number>>>): void {
      messages.reset();
      for (const [name, depth] of depths) {
        const queue = queues.of(name);
        for (const state of QUEUE_STATES) messages.inc({ queue, state }, depth[state]);
      }
    },
  };
}

function httpMetrics(make: MetricFactory) {
  return {
    /** `route` is the pattern (`/task/:id`), never the path of a request. */
    httpRequests: make.counter('heddle_http_requests_total', 'HTTP requests answered', ['route', 'method', 'status']),
    httpRequestSeconds: make.histogram('heddle_http_request_seconds', 'Time of one HTTP request', FAST_SECONDS, [
      'route',
      'method',
    ]),
  };
}
