import type { HeddleClient } from '@heddle/client';

/** Returns what keeps launches of the class from continuing; null if nothing known does. */
export async function obstacleOf(client: HeddleClient, resourceClass: string): Promise<string | null> {
  const { obstacles } = await client.pool.get();
  const concerns = obstacles.find(
    ({ requirements }) => requirements === null || requirements.resource_class === resourceClass,
  );
  return concerns?.reason ?? null;
}
