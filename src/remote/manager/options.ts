import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Random } from '../../runtime/random.ts';
import type { AuditLog } from '../audit/port.ts';
import type { EventRegistry } from '../events/port.ts';
import type { ExecutionTier } from '../execution/port.ts';
import type { RemoteMetrics } from '../observe/metrics.ts';
import type { TaskTracing } from '../observe/spans.ts';
import type { Ingress, Tier } from '../protocol/messages.ts';
import type { Authenticator, KeyLookup } from '../security/port.ts';
import type { JournalFiles } from './journal/files.ts';

/** What the manager counts; the others of RemoteMetrics belong to listeners and to the registry of events. */
export type ManagerMetrics = Pick<RemoteMetrics, 'taskEnded' | 'error' | 'queueDepth' | 'busyWorkers'>;

/** All of it is opened, and closed after the manager, by whoever opens the manager. */
export interface RemoteManagerOptions {
  readonly authenticator: Authenticator;
  /** To sign refusals of requests whose key is known: the authenticator tells keys only of requests that it let pass. */
  readonly keys: KeyLookup;
  readonly registry: EventRegistry;
  /** What the machine gives: the tier of the settings, and stronger ones that events may ask for. */
  readonly tiers: readonly ExecutionTier[];
  /** Made where it is not there. One manager at a time. */
  readonly journalDirectory: string;
  /** Where the journal is written instead: tests put a disk there that fails. */
  readonly journalFiles?: JournalFiles;
  readonly audit: Pick<AuditLog, 'append'>;
  readonly metrics: ManagerMetrics;
  readonly tracing: TaskTracing;
  readonly log: Logger;
  readonly clock: Clock;
  readonly random: Random;
  /** What listens now, for `/healthz`; none where absent. */
  readonly listeners?: () => readonly Ingress[];
  readonly settings: RemoteManagerSettings;
}

export interface RemoteManagerSettings {
  /** Names that callers may submit, compared exactly; `*` for all that are registered; an empty list allows nothing. */
  readonly allowedEvents: readonly string[];
  /** The tier of tasks whose event asks for no stronger one. */
  readonly tier: Tier;
  /** Tasks at once; 8 by default. */
  readonly workerCount?: number;
  /** Tasks that may wait for a worker; 100 by default. */
  readonly maxPendingTasks?: number;
  /** Seconds that a task may run; events and callers can only shorten it; 300 by default. */
  readonly taskTimeoutSecs?: number;
  /** MiB that a task may use; events can only lower it; 256 by default. */
  readonly memoryMb?: number;
  /** Largest result, bytes of JSON; 1 MiB by default. */
  readonly resultBytesMax?: number;
  /** Largest payload of a request; 4 MiB by default. */
  readonly payloadBytesMax?: number;
  /** Minutes that an outcome is kept for a caller who has not acknowledged it; 10 by default. */
  readonly responseTtlMinutes?: number;
  /** Outcomes kept at once; beyond it those that were handed over already are forgotten; 200,000 by default. */
  readonly retainedTasksMax?: number;
  /** Whether the journal survives a loss of power, not only the death of the process; on by default. */
  readonly journalSync?: boolean;
  /** Size of the journal beyond which no task is taken; 1 GiB by default. */
  readonly journalBytesMax?: number;
  /** Whether refusals name the events that could be asked for; off by default. */
  readonly debug?: boolean;
  /** What `status` names this executor. */
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
