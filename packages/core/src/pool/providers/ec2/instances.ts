import type { EC2Client, Filter, Instance, InstanceStateName } from '@aws-sdk/client-ec2';

import type { ProviderInstance } from '../../port/provider.ts';
import type { Ec2Sdk } from './sdk.ts';
import { BATCH_TAG, POOL_TAG, RUNNER_TAG, tagOf } from './tags.ts';

/** Instances per page, the maximum of the service. */
const PAGE = 1_000;

const STATES = {
  pending: 'pending',
  running: 'running',
  'shutting-down': 'stopping',
  stopping: 'stopping',
  // The instance still exists and its disk is billed, so it must be terminated.
  stopped: 'running',
  terminated: 'gone',
} as const satisfies Record<InstanceStateName, ProviderInstance['state']>;

/** Yields the instances that match the filters, page by page. */
export async function* describeInstances(
  sdk: Ec2Sdk,
  client: EC2Client,
  filters: readonly Filter[],
): AsyncGenerator<readonly Instance[]> {
  let token: string | undefined;
  do {
    const answer = await client.send(
      new sdk.DescribeInstancesCommand({
        Filters: [...filters],
        MaxResults: PAGE,
        ...(token === undefined ? {} : { NextToken: token }),
      }),
    );
    yield (answer.Reservations ?? []).flatMap(({ Instances }) => Instances ?? []);
    token = answer.NextToken === '' ? undefined : answer.NextToken;
  } while (token !== undefined);
}

export function ofPool(pool: string): Filter {
  return { Name: `tag:${POOL_TAG}`, Values: [pool] };
}

export function ofBatch(batchId: string): Filter {
  return { Name: `tag:${BATCH_TAG}`, Values: [batchId] };
}

export const ALIVE: Filter = {
  Name: 'instance-state-name',
  Values: ['pending', 'running', 'shutting-down', 'stopping', 'stopped'],
};

/** Returns null for an entry without an instance ID. */
export function instanceOf(instance: Instance): ProviderInstance | null {
  const { InstanceId, LaunchTime, State, Tags } = instance;
  if (InstanceId === undefined) return null;
  return {
    provider_id: InstanceId,
    runner_id: tagOf(Tags, RUNNER_TAG),
    batch_id: tagOf(Tags, BATCH_TAG),
    state: STATES[State?.Name ?? 'pending'],
    launched_at: LaunchTime?.getTime() ?? 0,
  };
}
