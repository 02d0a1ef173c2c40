import type { EventRegistry } from '@heddle/executor/events/port';
import { strongerTier } from '@heddle/executor/manager/steps/instantiate';
import type { SettingValues } from '../settings.ts';
import type { ExecutorTiers } from './executor-tiers.ts';

/**
 * Starts processes ahead of time for events whose code is available, one each and at most one per worker, for the first
 * tasks.
 */
export async function warmEvents(
  registry: EventRegistry,
  tiers: ExecutorTiers,
  settings: SettingValues,
): Promise<void> {
  const here = registry.names().filter((name) => registry.peek(name)?.definition !== null);
  for (const name of here.slice(0, settings.executorWorkerCount)) {
    using event = await registry.resolve(name, new AbortController().signal);
    const { memory_mb, tier } = event.definition;
    const wanted = strongerTier(tiers.own.tier, tier);
    const memoryMb = Math.min(settings.executorMemoryMb, memory_mb ?? Infinity);
    tiers.all.find((each) => each.tier === wanted)?.warm(event.code, memoryMb);
  }
}
