import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

import { CappedCounter, CappedLabel } from '@heddle/base/capped-label';
import { REMOTE_CODES, type RemoteCode } from '../protocol/codes.ts';
import { PROTOCOLS, type Ingress } from '../protocol/messages.ts';

/** Values of the label `protocol`: the listener on which the task's request arrived. */
const INGRESSES: readonly Ingress[] = [...PROTOCOLS, 'http'];
export const TASK_STATUSES = ['success', 'error'] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];
/** Values of the label `source`: origin of pulled event code. */
export const PULL_SOURCES = ['local', 'npm', 'git'] as const;
export type PullSource = (typeof PULL_SOURCES)[number];

/** From the duration of a warm event to the longest usual timeouts. */
const TASK_SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3_600];

export interface EndedTask {
  status: TaskStatus;
  protocol: Ingress;
  event_name: string;
  /** From acceptance to outcome, milliseconds. */
  duration_ms: number;
}

/** Metrics of an executor. Every method is cheap and never throws. */
export interface RemoteMetrics {
  readonly registry: Registry;
  /** Counts an admitted task that ended; a failure is also passed to `error`. */
  taskEnded(task: EndedTask): void;
  /** Counts a response with this code: a rejection, or the outcome of a task. */
  error(code: RemoteCode, protocol: Ingress): void;
  /** Changes the number of tasks waiting for a worker by `delta`, which may be negative. */
  queueDepth(protocol: Ingress, delta: number): void;
  /** Counts a pull of event code. */
  pulled(source: PullSource): void;
  /** Sets the number of workers running a task. */
  busyWorkers(count: number): void;
  /** Counts audit entries that were dropped. */
  auditLost(count: number): void;
}

export interface RemoteMetricsOptions {
  /** Default: a new registry. */
  registry?: Registry;
  /** Maximum distinct event names; further ones count as `other`. Default 100. */
  labelCap?: number;
  /** Adds CPU, memory, event loop and garbage collection metrics of this process; default false. */
  processMetrics?: boolean;
}

/** Creates the metrics of an executor; `registry.metrics()` returns the text of a scrape. */
export function createRemoteMetrics(options: RemoteMetricsOptions = {}): RemoteMetrics {
  const registry = options.registry ?? new Registry();
  if (options.processMetrics === true) collectDefaultMetrics({ register: registry });
  return { registry, ...taskMetrics(registry, new CappedLabel(options.labelCap)), ...executorMetrics(registry) };
}

function taskMetrics(registry: Registry, eventNames: CappedLabel) {
  const registers = [registry];
  const tasks = new CappedCounter(
    new Counter({
      name: 'volnux_tasks_total',
      help: 'Completed tasks by status (success, error), protocol and event',
      labelNames: ['status', 'protocol', 'event_name'],
      registers,
    }),
    { event_name: eventNames },
  );
  const seconds = new Histogram({
    name: 'volnux_task_duration_seconds',
    help: 'Time from acceptance of a task to its outcome',
    labelNames: ['status', 'protocol'],
    buckets: TASK_SECONDS,
    registers,
  });
  const depth = new Gauge({
    name: 'volnux_queue_depth',
    help: 'Tasks waiting for a worker, by protocol',
    labelNames: ['protocol'],
    registers,
  });
  const pulls = new Counter({
    name: 'volnux_ephemeral_pulls_total',
    help: 'Pulls of event code, by source',
    labelNames: ['source'],
    registers,
  });
  const errors = new Counter({
    name: 'volnux_errors_total',
    help: 'Rejected requests and failed tasks, by code',
    labelNames: ['code', 'protocol'],
    registers,
  });
  for (const protocol of INGRESSES) {
    depth.set({ protocol }, 0);
    for (const status of TASK_STATUSES) seconds.zero({ status, protocol });
    for (const code of Object.keys(REMOTE_CODES)) errors.inc({ code, protocol }, 0);
  }
  for (const source of PULL_SOURCES) pulls.inc({ source }, 0);
  return {
    taskEnded({ status, protocol, event_name, duration_ms }: EndedTask): void {
      tasks.inc({ status, protocol, event_name });
      seconds.observe({ status, protocol }, Math.max(0, duration_ms) / 1_000);
    },
    error: (code: RemoteCode, protocol: Ingress): void => errors.inc({ code, protocol }),
    queueDepth: (protocol: Ingress, delta: number): void => depth.inc({ protocol }, delta),
    pulled: (source: PullSource): void => pulls.inc({ source }),
  };
}

function executorMetrics(registry: Registry) {
  const registers = [registry];
  const busy = new Gauge({
    name: 'heddle_executor_busy_workers',
    help: 'Workers currently running a task',
    registers,
  });
  const lost = new Counter({
    name: 'heddle_executor_audit_dropped_total',
    help: 'Audit log entries dropped because they could not be written',
    registers,
  });
  return {
    busyWorkers: (count: number): void => busy.set(count),
    auditLost: (count: number): void => lost.inc(count),
  };
}
