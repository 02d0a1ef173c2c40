import type { Tag, TagSpecification } from '@aws-sdk/client-ec2';

/** Pool that an instance belongs to. */
export const POOL_TAG = 'heddle:pool';
/** Batch that launched an instance; the agent and the reaper identify its runner by it. */
export const BATCH_TAG = 'heddle:batch';
/** Runner of an instance that was launched alone. */
export const RUNNER_TAG = 'heddle:runner';

/** @param runnerId null if one call launches several instances, which all get the same tags */
export function tagsOf(pool: string, batchId: string, runnerId: string | null): TagSpecification[] {
  const tags: Tag[] = [
    { Key: POOL_TAG, Value: pool },
    { Key: BATCH_TAG, Value: batchId },
    { Key: 'Name', Value: `heddle runner of ${pool}` },
  ];
  if (runnerId !== null) tags.push({ Key: RUNNER_TAG, Value: runnerId });
  return [{ ResourceType: 'instance', Tags: tags }];
}

export function tagOf(tags: readonly Tag[] | undefined, key: string): string | null {
  return tags?.find((tag) => tag.Key === key)?.Value ?? null;
}
