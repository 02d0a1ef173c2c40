import type { Tag, TagSpecification } from '@aws-sdk/client-ec2';

/** Says which pool an instance belongs to. */
export const POOL_TAG = 'heddle:pool';
/** Says which launch an instance is of: its agent, and whoever lists instances, finds its runner by it. */
export const BATCH_TAG = 'heddle:batch';
/** Says which runner an instance is, where it was launched alone. */
export const RUNNER_TAG = 'heddle:runner';

/** @param runnerId null where several are launched by one call, which cannot tell them apart */
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
