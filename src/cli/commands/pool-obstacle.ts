import type { HeddleClient } from '../../client/client.ts';

/** Why launches of the class do not go on; null where nothing is known to be in their way. */
export async function obstacleOf(client: HeddleClient, resourceClass: string): Promise<string | null> {
  const { obstacles } = await client.pool.get();
  const concerns = obstacles.find(
    ({ requirements }) => requirements === null || requirements.resource_class === resourceClass,
  );
  return concerns?.reason ?? null;
}
