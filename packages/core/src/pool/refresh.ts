import { messageOf } from '@heddle/base/thrown';
import type { PoolContext } from './context.ts';
import type { PoolParts } from './parts.ts';
import type { Refreshed } from './pool-port.ts';

/**
 * Updates the launch configuration, ends overdue runners (in the store, then at the provider), reconciles the provider
 * with the store, and offers every idle runner to the backend. A failed step is reported and does not stop the others.
 */
export async function refresh(
  { provider }: PoolContext,
  { health, sweeper, reaper, offerer }: PoolParts,
  launches: boolean,
): Promise<Refreshed> {
  const failures: string[] = [];
  const attempt = async <T>(fault: string, fallback: T, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      failures.push(`${fault}: ${messageOf(error)}`);
      return fallback;
    }
  };
  const none = { orphans: 0, vanished: 0 };
  const changes = launches
    ? await attempt('could not update the launch configuration', [], () => provider.refresh())
    : [];
  const ended = await attempt('could not end overdue runners', 0, async () => {
    const swept = await sweeper.runOnce();
    return swept.ended;
  });
  const terminated = launches ? await attempt('could not terminate instances', 0, () => reaper.terminateLeaving()) : 0;
  const { orphans, vanished } = launches
    ? await attempt('could not list the instances of the provider', none, () => reaper.reconcile())
    : none;
  health.clear();
  const offered = await attempt('could not offer idle runners to the backend', 0, () => offerer.offerAll());
  return { changes, ended, terminated, orphans, vanished, offered, failures };
}
