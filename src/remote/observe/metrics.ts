import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

import { CappedCounter, CappedLabel } from '../../runtime/capped-label.ts';
import { REMOTE_CODES, type RemoteCode } from '../protocol/codes.ts';
import { PROTOCOLS, type Ingress } from '../protocol/messages.ts';

/** Values of the label `protocol`: where the request of a task came in. */
const INGRESSES: readonly Ingress[] = [...PROTOCOLS, 'http'];
export const TASK_STATUSES = ['success', 'error'] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];
/** Values of the label `source`: from where code of events was fetched. */
export const PULL_SOURCES = ['local', 'npm', 'git'] as const;
export type PullSource = (typeof PULL_SOURCES)[number];

/** From a warm event to the longest timeouts that are usual. */
const TASK_SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3_600];

export interface EndedTask {
  status: TaskStatus;
  protocol: Ingress;
  event_name: string;
  /** From acceptance to outcome, milliseconds. */
  duration_ms: number;
}

/** What an executor counts. Every method is cheap and never throws. */
export interface RemoteMetrics {
  readonly registry: Registry;
  /** An admitted task has its outcome; a failed one is told to `error` as well. */
  taskEnded(task: EndedTask): void;
  /** A request was answered with this code: refused, or the outcome of its task. */
  error(code: RemoteCode, protocol: Ingress): void;
  /** Tasks that wait for a worker: `delta` more (or, negative, fewer) of those that came in there. */
  queueDepth(protocol: Ingress, delta: number): void;
  /** Code of an event was fetched. */
  pulled(source: PullSource): void;
  /** Workers that run a task now. */
  busyWorkers(count: number): void;
  /** Entries that the audit log could not keep. */
  auditLost(count: number): void;
}

export interface RemoteMetricsOptions {
  /** One of its own where absent. */
  registry?: Registry;
  /** Distinct names of events; further ones count as `other`. Default 100. */
  labelCap?: number;
  /** CPU, memory, event loop and garbage collection of this process; off unless true. */
  processMetrics?: boolean;
}

/** The metrics of an executor in a registry; `registry.metrics()` is the text of a scrape. */
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
      help: 'Tasks that ended, by how (success, error), where they came in and event',
      labelNames: ['status', 'protocol', 'event_name'],
      registers,
    }),
    { event_name: eventNames },
  );
  const seconds = new Histogram({
    name: 'volnux_task_duration_seconds',
    help: 'Time from the acceptance of a task to its outcome',
    labelNames: ['status', 'protocol'],
    buckets: TASK_SECONDS,
    registers,
  });
  const depth = new Gauge({
    name: 'volnux_queue_depth',
    help: 'Tasks that wait for a worker, by where they came in',
    labelNames: ['protocol'],
    registers,
  });
  const pulls = new Counter({
    name: 'volnux_ephemeral_pulls_total',
    help: 'Times that code of an event was fetched, by its source',
    labelNames: ['source'],
    registers,
  });
  const errors = new Counter({
    name: 'volnux_errors_total',
    help: 'Requests refused and tasks failed, by code',
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
    help: 'Workers of the executor that run a task now',
    registers,
  });
  const lost = new Counter({
    name: 'heddle_executor_audit_lost_total',
    help: 'Entries of the audit log that could not be kept because the disk did not take them',
    registers,
  });
  return {
    busyWorkers: (count: number): void => busy.set(count),
    auditLost: (count: number): void => lost.inc(count),
  };
}
