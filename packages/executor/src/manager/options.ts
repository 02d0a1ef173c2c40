import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import type { Random } from '@heddle/base/random';
import type { AuditLog } from '../audit/port.ts';
import type { EventRegistry } from '../events/port.ts';
import type { ExecutionTier } from '../execution/port.ts';
import type { RemoteMetrics } from '../observe/metrics.ts';
import type { TaskTracing } from '../observe/spans.ts';
import type { Ingress, Tier } from '../protocol/messages.ts';
import type { Authenticator, KeyLookup } from '../security/port.ts';
import type { JournalFiles } from './journal/files.ts';

/** Metrics of the manager; the rest of RemoteMetrics belongs to the listeners and the event registry. */
export type ManagerMetrics = Pick<RemoteMetrics, 'taskEnded' | 'error' | 'queueDepth' | 'busyWorkers'>;

/** Everything here is opened by the manager's owner, and closed by it after the manager. */
export interface RemoteManagerOptions {
  readonly authenticator: Authenticator;
  /** Looks up keys to sign rejections; the authenticator returns keys only for accepted requests. */
  readonly keys: KeyLookup;
  readonly registry: EventRegistry;
  /** Open tiers: that of the settings, and stronger ones that events may require. */
  readonly tiers: readonly ExecutionTier[];
  /** Created if missing; used by one manager at a time. */
  readonly journalDirectory: string;
  /** Replaces the directory; lets tests use a failing disk. */
  readonly journalFiles?: JournalFiles;
  readonly audit: Pick<AuditLog, 'append'>;
  readonly metrics: ManagerMetrics;
  readonly tracing: TaskTracing;
  readonly log: Logger;
  readonly clock: Clock;
  readonly random: Random;
  /** Active listeners for `/healthz`; default none. */
  readonly listeners?: () => readonly Ingress[];
  readonly settings: RemoteManagerSettings;
}

export interface RemoteManagerSettings {
  /** Allowed event names, matched exactly; `*` allows all registered events, an empty list none. */
  readonly allowedEvents: readonly string[];
  /** Tier of tasks whose event requires no stronger one. */
  readonly tier: Tier;
  /** Maximum concurrent tasks; default 8. */
  readonly workerCount?: number;
  /** Maximum tasks waiting for a worker; default 100. */
  readonly maxPendingTasks?: number;
  /** Task timeout, seconds; events and callers can only shorten it; default 300. */
  readonly taskTimeoutSecs?: number;
  /** Memory limit of a task, MiB; events can only lower it; default 256. */
  readonly memoryMb?: number;
  /** Maximum result, bytes of JSON; default 1 MiB. */
  readonly resultBytesMax?: number;
  /** Maximum payload of a request; default 4 MiB. */
  readonly payloadBytesMax?: number;
  /** Retention of unacknowledged outcomes, minutes; default 10. */
  readonly responseTtlMinutes?: number;
  /** Maximum stored outcomes, beyond which delivered ones are evicted; default 200,000. */
  readonly retainedTasksMax?: number;
  /** Whether the journal survives a power loss and not only a crash of the process; default true. */
  readonly journalSync?: boolean;
  /** Journal size beyond which tasks are rejected; default 1 GiB. */
  readonly journalBytesMax?: number;
  /** Whether rejections list the available events; default false. */
  readonly debug?: boolean;
  /** Name of this executor in `status`. */
  readonly executorName?: string;
  readonly version?: string;
}

export type ManagerSettings = Required<RemoteManagerSettings>;

const MEBIBYTE = 1_048_576;

const DEFAULTS = {
  workerCount: 8,
  maxPendingTasks: 100,
  taskTimeoutSecs: 300,
  memoryMb: 256,
  resultBytesMax: MEBIBYTE,
  payloadBytesMax: 4 * MEBIBYTE,
  responseTtlMinutes: 10,
  retainedTasksMax: 200_000,
  journalSync: true,
  journalBytesMax: 1024 * MEBIBYTE,
  debug: false,
  executorName: 'heddle-executor',
  version: '',
} as const;

export function withDefaults(settings: RemoteManagerSettings): ManagerSettings {
  return { ...DEFAULTS, ...settings };
}
