import type { PoolContext } from './context.ts';
import type { PoolParts } from './parts.ts';
import type { Refreshed } from './pool-port.ts';

/**
 * Brings launches up to date, ends what is past its time (first in the store, then at the provider), holds the provider
 * against the store, and tells the backend of every idle runner. What fails is named, and keeps nothing else from being
 * done.
 */
export async function refresh(
  { provider }: PoolContext,
  { health, sweeper, reaper, offerer }: PoolParts,
  launches: boolean,
): Promise<Refreshed> {
  const failures: string[] = [];
  const attempt = async <T>(what: string, otherwise: T, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      failures.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
      return otherwise;
    }
  };
  const none = { orphans: 0, vanished: 0 };
  const changes = launches
    ? await attempt('the provider could not be brought up to date', [], () => provider.refresh())
    : [];
  const ended = await attempt('runners past their time could not be ended', 0, async () => {
    const swept = await sweeper.runOnce();
    return swept.ended;
  });
  const terminated = launches ? await attempt('instances could not be ended', 0, () => reaper.terminateLeaving()) : 0;
  const { orphans, vanished } = launches
    ? await attempt('the provider could not be listed', none, () => reaper.reconcile())
    : none;
  health.clear();
  const offered = await attempt('the backend could not be told of idle runners', 0, () => offerer.offerAll());
  return { changes, ended, terminated, orphans, vanished, offered, failures };
}
