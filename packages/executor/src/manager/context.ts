import type { ExecutionTier } from '../execution/port.ts';
import type { Tier } from '../protocol/messages.ts';
import type { Closing } from './closing.ts';
import type { ClientTaskRegistry } from './client-task-registry.ts';
import type { DeadlineWheel } from './deadline-wheel.ts';
import type { Journal } from './journal/journal.ts';
import type { ManagerSettings, RemoteManagerOptions } from './options.ts';
import type { Quarantine } from './quarantine.ts';
import type { ByteStore } from './stored-bytes.ts';
import type { Throughput } from './throughput.ts';

/** Shared state of the pipeline's steps. */
export interface ManagerContext {
  readonly options: RemoteManagerOptions;
  readonly settings: ManagerSettings;
  readonly tiers: ReadonlyMap<Tier, ExecutionTier>;
  readonly tasks: ClientTaskRegistry;
  readonly journal: Journal;
  readonly bytes: ByteStore;
  readonly quarantine: Quarantine;
  readonly throughput: Throughput;
  readonly waits: DeadlineWheel;
  readonly closing: Closing;
  /** Generates correlation ids. */
  readonly newCorrelationId: () => string;
}

export function outcomeTtlMs({ settings }: ManagerContext): number {
  return settings.responseTtlMinutes * 60_000;
}

/** Returns whether the operator allows the event; names are matched exactly. */
export function isAllowed({ settings: { allowedEvents } }: ManagerContext, eventName: string): boolean {
  return allowedEvents.includes(eventName) || allowedEvents.includes('*');
}
