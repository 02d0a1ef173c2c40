/** The AWS SDK client of EC2 against a local server that speaks its protocol. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';

import * as sdk from '@aws-sdk/client-ec2';

import type { LaunchBatch, LaunchFault, ProviderInstance } from '../../../../src/pool/port/provider.ts';
import { Ec2Provider } from '../../../../src/pool/providers/ec2/provider.ts';
import type { Ec2Settings } from '../../../../src/pool/providers/ec2/settings.ts';
import { BATCH_TAG, POOL_TAG, RUNNER_TAG } from '../../../../src/pool/providers/ec2/tags.ts';
import { newId } from '@heddle/base/random';
import { listAt, textAt } from '@heddle/test-support/pool/providers/ec2/query';
import { FakeEc2 } from '@heddle/test-support/pool/providers/ec2/server';

const PARAMETERS = {
  image_id: 'ami-1',
  security_group_ids: ['sg-1'],
  instance_profile: 'runner',
  key_name: null,
  user_data: '#!/bin/bash\nheddle worker --runner ec2\n',
};

function batchOf(count: number, extra: Partial<LaunchBatch['requirements']> = {}): LaunchBatch {
  return {
    id: newId(),
    requirements: {
      resource_class: 'large',
      usage_class: 'on-demand',
      allowed_instance_types: [],
      cpu: null,
      memory_mib: null,
      ...extra,
    },
    cpu: 2,
    memory_mib: 4_096,
    runner_ids: Array.from({ length: count }, () => newId()),
    planned_at: 0,
    tries: 0,
  };
}

async function all(provider: Ec2Provider): Promise<ProviderInstance[]> {
  const listed: ProviderInstance[] = [];
  for await (const page of provider.list()) listed.push(...page);
  return listed;
}

describe('runners on EC2', () => {
  let server: FakeEc2;
  let endpoint: string;
  let provider: Ec2Provider;

  const open = (extra: Partial<Ec2Settings> = {}): Ec2Provider => {
    const settings: Ec2Settings = {
      region: 'eu-central-1',
      endpoint,
      pool: 'test',
      template: null,
      parameters: PARAMETERS,
      subnet_ids: ['subnet-a', 'subnet-b'],
      instance_types: {},
      ...extra,
    };
    const client = new sdk.EC2Client({
      region: settings.region,
      endpoint,
      maxAttempts: 1,
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    });
    return new Ec2Provider({ settings, sdk, client });
  };
  const failsWith = (launch: Promise<unknown>, fault: LaunchFault): Promise<void> =>
    assert.rejects(launch, { name: 'LaunchFailure', fault });

  beforeEach(async () => {
    server = new FakeEc2();
    endpoint = await server.start();
    provider = open();
  });
  afterEach(async () => {
    await provider.close();
    await server.stop();
  });

  test('several runners are an instant fleet over the subnets, tagged with the pool and the launch', async () => {
    const batch = batchOf(3, { allowed_instance_types: ['m7i*', 'c7?'], usage_class: 'spot' });
    const { launched, missing } = await provider.launch(batch);
    assert.equal(missing, null);
    assert.deepEqual(
      launched.map(({ runner_id }) => runner_id),
      batch.runner_ids,
    );
    assert.equal(new Set(launched.map(({ provider_id }) => provider_id)).size, 3);
    assert.deepEqual(
      launched.map(({ cpu, memory_mib }) => [cpu, memory_mib]),
      Array(3).fill([2, 4_096]),
    );
    const { query } = server.calls.find(({ action }) => action === 'CreateFleet')!;
    const overrides = listAt(query, 'LaunchTemplateConfigs.1.Overrides');
    assert.deepEqual(
      overrides.map((each) => textAt(each, 'SubnetId')),
      ['subnet-a', 'subnet-b'],
    );
    assert.deepEqual(
      ['VCpuCount.Min', 'VCpuCount.Max', 'MemoryMiB.Min', 'AllowedInstanceType.1', 'AllowedInstanceType.2'].map((at) =>
        textAt(overrides[0]!, `InstanceRequirements.${at}`),
      ),
      ['2', '2', '4096', 'm7i*', 'c7?'],
    );
    assert.equal(textAt(query, 'Type'), 'instant');
    assert.equal(textAt(query, 'SpotOptions.AllocationStrategy'), 'price-capacity-optimized');
    for (const { tags, spot } of server.alive()) {
      assert.deepEqual(
        [tags.get(POOL_TAG), tags.get(BATCH_TAG), tags.get(RUNNER_TAG), spot],
        ['test', batch.id, undefined, true],
      );
    }
  });

  test('one runner of a configured type uses RunInstances, tagged with its runner', async () => {
    provider = open({ instance_types: { large: ['c7i.large', 'm7i.large'] } });
    const batch = batchOf(1, { allowed_instance_types: ['m*'] });
    const { launched } = await provider.launch(batch);
    assert.deepEqual(
      launched.map(({ instance_type }) => instance_type),
      ['m7i.large'],
    );
    assert.equal(server.count('CreateFleet'), 0);
    const [instance] = server.alive();
    assert.equal(instance!.tags.get(RUNNER_TAG), batch.runner_ids[0]);
    assert.ok(['subnet-a', 'subnet-b'].includes(instance!.subnet!));
    await provider.close();
  });

  test('a class never gets a type that is not configured, however many runners are requested', async () => {
    provider = open({ instance_types: { large: ['c7i.large', 'm7i.large'] } });
    for (const count of [1, 3]) {
      await assert.rejects(provider.launch(batchOf(count, { allowed_instance_types: ['g5.*'] })), {
        name: 'LaunchFailure',
        fault: 'refused',
        message: /names c7i\.large, m7i\.large for the class large, and the request allows only g5\.\*; allow one/,
      });
    }
    assert.deepEqual([server.count('RunInstances'), server.count('CreateFleet'), server.alive().length], [0, 0, 0]);
  });

  test('if one type has no capacity, a fleet of all allowed types is used', async () => {
    provider = open({ instance_types: { large: ['c7i.large', 'm7i.large'] } });
    server.capacity.set('c7i.large', 0);
    const { launched } = await provider.launch(batchOf(1));
    assert.deepEqual(
      launched.map(({ instance_type }) => instance_type),
      ['m7i.large'],
    );
    assert.equal(server.alive().length, 1);
    await provider.close();
  });

  test('a repeated call with the same token launches nothing more and returns the same result', async () => {
    for (const count of [1, 4]) {
      const batch = batchOf(count);
      const first = await provider.launch(batch);
      assert.deepEqual(await provider.launch({ ...batch, tries: 1 }), first);
    }
    assert.equal(server.alive().length, 5);
  });

  test('a lost answer is unclear, and the same call finds the launched instance', async () => {
    for (const types of [{}, { large: ['m7i.large'] }]) {
      const own = open({ instance_types: types });
      const batch = batchOf(1);
      const action = 'large' in types ? 'RunInstances' : 'CreateFleet';
      const before = server.alive().length;
      server.troubles.push({ action, code: 'drop-answer' });
      await failsWith(own.launch(batch), 'unclear');
      const { launched } = await own.launch({ ...batch, tries: 1 });
      assert.equal(launched.length, 1);
      assert.equal(server.alive().length, before + 1);
      await own.close();
    }
  });

  test('one of several types whose answer was lost is not launched twice, even if capacity has changed', async () => {
    provider = open({ instance_types: { large: ['c7i.large', 'm7i.large'] } });
    const batch = batchOf(1);
    server.capacity.set('c7i.large', 0);
    server.troubles.push({ action: 'CreateFleet', code: 'drop-answer' });
    await failsWith(provider.launch(batch), 'unclear');
    server.capacity.delete('c7i.large');
    const { launched } = await provider.launch({ ...batch, tries: 1 });
    assert.deepEqual(
      launched.map(({ instance_type }) => instance_type),
      ['m7i.large'],
    );
    assert.deepEqual([server.alive().length, server.count('RunInstances')], [1, 0]);
  });

  test('after settings changed, a launch that may have succeeded is not abandoned while listings are stale', async () => {
    const batch = batchOf(2);
    server.hiddenFor = 1;
    server.troubles.push({ action: 'CreateFleet', code: 'drop-answer' });
    await failsWith(provider.launch(batch), 'unclear');
    const changed = open({ subnet_ids: ['subnet-c'] });
    await failsWith(changed.launch({ ...batch, tries: 1 }), 'unclear');
    assert.equal((await changed.launch({ ...batch, tries: 2 })).launched.length, 2);
    await changed.close();
  });

  test('after settings changed between two tries, the launched instances are found by their tags', async () => {
    const batch = batchOf(2);
    server.troubles.push({ action: 'CreateFleet', code: 'drop-answer' });
    await failsWith(provider.launch(batch), 'unclear');
    const changed = open({ subnet_ids: ['subnet-c'] });
    const { launched } = await changed.launch({ ...batch, tries: 1 });
    assert.deepEqual(
      launched.map(({ provider_id }) => provider_id).sort(),
      server
        .alive()
        .map(({ id }) => id)
        .sort(),
    );
    assert.equal(server.alive().length, 2);
    await changed.close();
  });

  test('an incomplete fleet is used', async () => {
    server.capacity.set('m7i.large', 2);
    const { launched, missing } = await provider.launch(batchOf(5));
    assert.equal(launched.length, 2);
    assert.match(missing!, /InsufficientInstanceCapacity/);
  });

  test('an empty fleet fails with capacity', async () => {
    server.capacity.set('m7i.large', 0);
    await failsWith(provider.launch(batchOf(2)), 'capacity');
  });

  const FAULTS: readonly (readonly [string, number, LaunchFault])[] = [
    ['RequestLimitExceeded', 503, 'throttled'],
    ['Throttling', 400, 'throttled'],
    ['InstanceLimitExceeded', 400, 'capacity'],
    ['VcpuLimitExceeded', 400, 'capacity'],
    ['MaxSpotInstanceCountExceeded', 400, 'capacity'],
    ['UnauthorizedOperation', 403, 'refused'],
    ['InvalidAMIID.NotFound', 400, 'refused'],
    ['InvalidParameterValue', 400, 'refused'],
    ['InternalError', 500, 'unclear'],
    ['Unavailable', 503, 'unclear'],
  ];
  for (const [code, status, fault] of FAULTS) {
    test(`${code} (${status}) is ${fault}`, async () => {
      server.troubles.push({ action: 'CreateFleet', code, status });
      await failsWith(provider.launch(batchOf(2)), fault);
      assert.equal(server.alive().length, 0);
    });
  }

  test('a broken connection is unclear', async () => {
    server.troubles.push({ action: 'CreateFleet', code: 'hang-up' });
    await failsWith(provider.launch(batchOf(2)), 'unclear');
  });

  test('a listing includes every page, and only live instances of this pool', async () => {
    server.pageMax = 3;
    await provider.launch(batchOf(8));
    server.plant({ [POOL_TAG]: 'another' });
    const planted = server.plant({ [POOL_TAG]: 'test' });
    await provider.terminate([server.alive()[0]!.id]);
    const listed = await all(provider);
    assert.equal(listed.length, 8);
    assert.equal(server.count('DescribeInstances'), 3);
    assert.deepEqual(
      listed.filter(({ batch_id }) => batch_id === null).map(({ provider_id }) => provider_id),
      [planted.id],
    );
  });

  test('an error within a listing is an error, not a short listing', async () => {
    server.pageMax = 2;
    await provider.launch(batchOf(5));
    server.troubles.push({ action: 'DescribeInstances', code: 'RequestLimitExceeded', status: 503 });
    await assert.rejects(all(provider), { name: 'RequestLimitExceeded' });
  });

  test('a new instance may be missing from listings for a while', async () => {
    server.hiddenFor = 2;
    await provider.launch(batchOf(1));
    assert.deepEqual(
      [(await all(provider)).length, (await all(provider)).length, (await all(provider)).length],
      [0, 0, 1],
    );
  });

  test('unknown ids do not prevent the termination of others, and terminating twice is not an error', async () => {
    const { launched } = await provider.launch(batchOf(3));
    const ids = launched.map(({ provider_id }) => provider_id);
    await provider.terminate(['i-00000000000000bad', ...ids, 'i-0000000000000bad2']);
    assert.equal(server.alive().length, 0);
    await provider.terminate(ids);
    await provider.terminate(['i-00000000000000bad']);
    await provider.terminate([]);
  });

  test('terminated during its launch: the runner has an instance that listings do not include', async () => {
    const { launched } = await provider.launch(batchOf(1));
    server.instances.get(launched[0]!.provider_id)!.state = 'terminated';
    assert.deepEqual(await all(provider), []);
  });

  test('the template is created once, updated when its parameters change, and contains the settings of an agent', async () => {
    assert.deepEqual(await provider.refresh(), ['launch template heddle-test created']);
    assert.deepEqual(await provider.refresh(), []);
    const changed = open({ parameters: { ...PARAMETERS, image_id: 'ami-2' } });
    assert.deepEqual(await changed.refresh(), ['launch template heddle-test updated']);
    const { data } = server.templates.get('heddle-test')!.versions[0]!;
    assert.equal(Buffer.from(textAt(data!, 'UserData')!, 'base64').toString(), PARAMETERS.user_data);
    assert.deepEqual(
      ['MetadataOptions.InstanceMetadataTags', 'MetadataOptions.HttpTokens', 'InstanceInitiatedShutdownBehavior'].map(
        (at) => textAt(data!, at),
      ),
      ['enabled', 'required', 'terminate'],
    );
    await changed.close();
  });

  test('concurrent creation of the template is not an error', async () => {
    const other = open();
    const lines = await Promise.all([provider.refresh(), other.refresh()]);
    assert.ok(lines.flat().length >= 1);
    assert.ok(server.templates.has('heddle-test'));
    await other.close();
  });

  test('an existing template is used unchanged', async () => {
    const own = open({ template: { id: 'lt-0123', version: '7' }, parameters: null });
    assert.deepEqual(await own.refresh(), []);
    await own.launch(batchOf(2));
    const { query } = server.calls.find(({ action }) => action === 'CreateFleet')!;
    const specification = 'LaunchTemplateConfigs.1.LaunchTemplateSpecification';
    assert.deepEqual(
      [textAt(query, `${specification}.LaunchTemplateId`), textAt(query, `${specification}.Version`)],
      ['lt-0123', '7'],
    );
    assert.equal(server.count('CreateLaunchTemplate'), 0);
    await own.close();
  });

  test('a template that cannot be created fails the launch with the error of EC2, and is retried', async () => {
    server.troubles.push({ action: 'DescribeLaunchTemplateVersions', code: 'UnauthorizedOperation', status: 403 });
    await failsWith(provider.launch(batchOf(2)), 'refused');
    assert.equal((await provider.launch(batchOf(2))).launched.length, 2);
  });
});
