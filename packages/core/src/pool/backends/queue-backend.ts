import type { ResourceClass } from '@heddle/base/vocabulary/resource-class';
import type { MessageQueue } from '../../queue/port.ts';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import type { PickupPolicy } from '../pickup/policy.ts';
import { PoolMessages, type PickupMetrics, type PoolMessagesOptions } from '../pickup/pool-messages.ts';
import type { BackendCounts } from '../port/backend.ts';
import type { RunnerStore } from '../port/store.ts';

/** Options of backends that use queues. */
export interface QueueBackendOptions {
  readonly store: Pick<RunnerStore, 'claim'>;
  readonly queue: MessageQueue;
  readonly classes: readonly ResourceClass[];
  /** Overrides of the backend's defaults. */
  readonly policy?: Partial<PickupPolicy>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics?: PickupMetrics;
}

/** Returns the queues of a backend. */
export function messagesOf(
  { queue, log, metrics }: QueueBackendOptions,
  own: Pick<PoolMessagesOptions, 'driver' | 'queueOf' | 'policy' | 'counts'>,
): PoolMessages {
  return new PoolMessages({ ...own, queue, log, ...(metrics === undefined ? {} : { metrics }) });
}

export function newCounts(): BackendCounts {
  return { operations: 0, picked: 0, requeued: 0, discarded: 0 };
}

export function byName(classes: readonly ResourceClass[]): ReadonlyMap<string, ResourceClass> {
  return new Map(classes.map((resourceClass) => [resourceClass.name, resourceClass]));
}
