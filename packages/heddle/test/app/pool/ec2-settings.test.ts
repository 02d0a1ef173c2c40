/** From the settings of a server, through its pool, to the calls that reach EC2. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { loadConfiguration } from '../../../src/app/config.ts';
import { writeOrReadPolicy } from '../../../src/app/pool/shared-policy.ts';
import { startPool, type StartedPool } from '../../../src/app/pool/start.ts';
import { StopSequence } from '../../../src/app/stop-sequence.ts';
import type { Demand } from '@heddle/base/vocabulary/requirements';
import { BATCH_TAG, POOL_TAG, RUNNER_TAG } from '@heddle/core/internal/pool/providers/ec2/tags';
import { openQueue } from '@heddle/core/queue/open';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { createMetrics } from '@heddle/core/metrics/metrics';
import { newId, systemRandom } from '@heddle/base/random';
import { FakeEc2 } from '@heddle/test-support/pool/providers/ec2/server';
import { listAt, textAt, type QueryValue } from '@heddle/test-support/pool/providers/ec2/query';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase, type TestDatabase } from '@heddle/test-support/postgres';

const DEADLINE_MS = 60_000;
const LARGE: Demand = {
  resource_class: 'large',
  usage_class: 'on-demand',
  allowed_instance_types: [],
  cpu: null,
  memory_mib: null,
  count: 1,
};

describe('a pool with the provider ec2', () => {
  const ec2 = new FakeEc2();
  const stopping = new StopSequence(systemClock, silentLogger);
  let database: TestDatabase;
  let started: StartedPool;

  before(async () => {
    // Credentials, where the SDK finds them on a server.
    process.env['AWS_ACCESS_KEY_ID'] = 'test';
    process.env['AWS_SECRET_ACCESS_KEY'] = 'test';
    database = await createTestDatabase();
    const { values: settings } = loadConfiguration({
      flags: {},
      environment: {
        HEDDLE_POOL_PROVIDER: 'ec2',
        HEDDLE_POOL_EC2_REGION: 'eu-central-1',
        HEDDLE_POOL_EC2_ENDPOINT: await ec2.start(),
        HEDDLE_POOL_EC2_POOL: 'mine',
        HEDDLE_POOL_EC2_IMAGE: 'ami-7',
        HEDDLE_POOL_EC2_SECURITY_GROUPS: 'sg-1,sg-2',
        HEDDLE_POOL_EC2_SUBNETS: 'subnet-a,subnet-b',
        HEDDLE_POOL_EC2_INSTANCE_TYPES: 'large=m7i.large,large=m6i.large',
        HEDDLE_POOL_EC2_INSTANCE_PROFILE: 'runner',
        HEDDLE_POOL_EC2_ENVIRONMENT: 'HEDDLE_URL=https://heddle.internal,HEDDLE_TOKEN=hdl_1',
        HEDDLE_POOL_MAX_RUNNERS: '4',
        HEDDLE_POOL_RECHECK_SECS: '1',
      },
      workingDirectory: process.cwd(),
    });
    const common = { database: database.database, clock: systemClock, random: systemRandom, log: silentLogger };
    const { queue } = await openQueue({ url: 'postgres', ...common });
    stopping.add('the queue', () => queue.close());
    const processes = { url: '', credentialOf: () => Promise.resolve(''), runnerVariables: {} };
    const options = { settings, ...processes, queue, stopping };
    const { classes, times } = await writeOrReadPolicy(database.database, settings, silentLogger);
    started = await startPool({ ...options, ...common, classes, times, metrics: createMetrics() });
  });

  after(async () => {
    await stopping.stop();
    await ec2.stop();
    await database.drop();
  });

  const callsOf = (action: string): QueryValue[] =>
    ec2.calls.flatMap((call) => (call.action === action ? [call.query] : []));
  const stateOf = async (id: string): Promise<string> => {
    const [runner] = await started.pool.runners({ ids: [id] }, { offset: 0, limit: 1 });
    return `${runner?.state} ${runner?.instance_type} ${runner?.provider}`;
  };

  it('creates the launch template in the settings, with the variables of its runners', async () => {
    const { changes, failures } = await started.pool.refresh();
    assert.deepEqual([changes, failures], [['launch template heddle-mine created'], []]);
    const data = ec2.templates.get('heddle-mine')!.versions[0]!.data!;
    const said = ['ImageId', 'IamInstanceProfile.Name', 'SecurityGroupId.1', 'SecurityGroupId.2'];
    assert.deepEqual(
      said.map((path) => textAt(data, path)),
      ['ami-7', 'runner', 'sg-1', 'sg-2'],
    );
    const script = Buffer.from(textAt(data, 'UserData')!, 'base64').toString();
    assert.match(script, /^export HEDDLE_URL='https:\/\/heddle\.internal'\nexport HEDDLE_TOKEN='hdl_1'$/m);
    assert.match(script, /^heddle worker --runner ec2$/m);
  });

  it('launches one instance of the first type, tagged, and terminates it with its runner', async () => {
    const { runner_ids } = await started.pool.provision(LARGE);
    const [id] = runner_ids;
    await eventually(async () => (await stateOf(id!)) === 'created m7i.large ec2', 'it is launched', DEADLINE_MS);
    const [fleet] = callsOf('CreateFleet');
    const types = listAt(fleet!, 'LaunchTemplateConfigs.1.Overrides').map((each) => textAt(each, 'InstanceType'));
    assert.equal(types[0], 'm7i.large');
    const [instance] = ec2.alive();
    assert.deepEqual([instance!.tags.get(POOL_TAG), instance!.tags.get(RUNNER_TAG)], ['mine', id]);
    assert.equal(await started.pool.terminate([id!]), 1);
    await eventually(() => ec2.alive().length === 0, 'its instance is ended', DEADLINE_MS);
  });

  it('launches several as a fleet over the subnets, within the limit', async () => {
    const { runner_ids, not_launched } = await started.pool.provision({ ...LARGE, usage_class: 'spot', count: 9 });
    assert.deepEqual([runner_ids.length, not_launched], [4, 5]);
    await eventually(() => ec2.alive().length === 4, 'they are launched', DEADLINE_MS);
    const fleet = callsOf('CreateFleet').at(-1);
    const overrides = listAt(fleet!, 'LaunchTemplateConfigs.1.Overrides').map((each) => textAt(each, 'SubnetId'));
    assert.deepEqual(new Set(overrides), new Set(['subnet-a', 'subnet-b']));
    assert.equal(textAt(fleet!, 'TargetCapacitySpecification.DefaultTargetCapacityType'), 'spot');
    assert.equal(await started.pool.terminate(runner_ids), 4);
    await eventually(() => ec2.alive().length === 0, 'their instances are ended', DEADLINE_MS);
  });

  it('terminates orphaned instances with its tag, and none of another pool', async () => {
    const stray = ec2.plant({ [POOL_TAG]: 'mine', [BATCH_TAG]: newId() });
    const other = ec2.plant({ [POOL_TAG]: 'other', [BATCH_TAG]: newId() });
    for (const instance of [stray, other]) instance.state = 'running';
    await eventually(
      async () => (await started.pool.refresh()).failures.length === 0 && stray.state === 'terminated',
      'the stray instance is ended',
      DEADLINE_MS,
    );
    assert.equal(other.state, 'running');
  });
});
