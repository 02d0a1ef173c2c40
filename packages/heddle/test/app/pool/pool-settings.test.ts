import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';

import { loadConfiguration } from '../../../src/app/config.ts';
import { ConfigurationError } from '@heddle/base/terminal/failure';
import { ec2SettingsOf } from '../../../src/app/pool/ec2.ts';
import { poolPolicyOf } from '../../../src/app/pool/policy.ts';
import type { SettingValues } from '../../../src/app/settings.ts';
import { DEFAULT_RESOURCE_CLASSES } from '@heddle/base/vocabulary/resource-class';

type Environment = Record<string, string>;
const directory = mkdtempSync(join(tmpdir(), 'heddle-pool-settings-'));
after(() => rmSync(directory, { recursive: true }));

function load(environment: Environment): SettingValues {
  return loadConfiguration({ flags: {}, environment, workingDirectory: directory }).values;
}

function faultsOf(environment: Environment): readonly string[] {
  try {
    load(environment);
  } catch (error) {
    if (error instanceof ConfigurationError) return error.faults;
    throw error;
  }
  return [];
}

describe('the settings of the runner pool', () => {
  it('have the documented defaults', () => {
    const policy = poolPolicyOf(load({}));
    assert.deepEqual(policy, {
      classes: DEFAULT_RESOURCE_CLASSES,
      class_times: {},
      times: {
        created_ms: 600_000,
        register_ms: 180_000,
        confirm_ms: 10_000,
        claim_ms: 300_000,
        idle_ms: 300_000,
        heartbeat_max_age_ms: 15_000,
        heartbeat_timeout_ms: 30_000,
        recheck_ms: 60_000,
        reserve_after_ms: 10_000,
      },
      max_runners: 8,
      batch_max: 20,
      launch_rate: { per_second: 5, burst: 20 },
      min_idle: [],
      max_uses: null,
      keep_ms: 86_400_000,
    });
    const { runnerHeartbeatMs, runnerRequeueDelayMs, runnerVisibilityMs, runnerFrequencyTolerance } = load({});
    assert.deepEqual(
      [runnerHeartbeatMs, runnerRequeueDelayMs, runnerVisibilityMs, runnerFrequencyTolerance],
      [5_000, 3_000, 30_000, 5],
    );
    assert.equal(poolPolicyOf(load({ HEDDLE_POOL_PROVIDER: 'none' })).max_runners, 100);
  });

  it('are accepted in every form: short, JSON, a file, the configuration file', () => {
    const classes = [{ name: 'tiny', cpu: 1, memory_mib: 512 }];
    const path = join(directory, 'classes.json');
    writeFileSync(path, JSON.stringify(classes));
    assert.deepEqual(poolPolicyOf(load({ HEDDLE_POOL_CLASSES: JSON.stringify(classes) })).classes, classes);
    assert.deepEqual(poolPolicyOf(load({ HEDDLE_POOL_CLASSES: `@${path}` })).classes, classes);
    const own = [{ ...classes[0], idle_secs: 30, claim_secs: 90.5, max_uses: null }];
    const { classes: read, class_times } = poolPolicyOf(load({ HEDDLE_POOL_CLASSES: JSON.stringify(own) }));
    assert.deepEqual(read, classes);
    assert.deepEqual(class_times, { tiny: { idle_ms: 30_000, claim_ms: 90_500, max_uses: null } });
    const idle = [{ class: 'tiny', count: 2, schedule: '* 8-17 * * 1-5', time_zone: 'Europe/Berlin' }];
    const config = join(directory, 'heddle.json');
    writeFileSync(
      config,
      JSON.stringify({ HEDDLE_POOL_CLASSES: classes, HEDDLE_POOL_MIN_IDLE: idle, HEDDLE_POOL_MAX_USES: 3 }),
    );
    const policy = poolPolicyOf(load({ HEDDLE_CONFIG: config, HEDDLE_POOL_IDLE_TIMEOUT_SECS: '0.25' }));
    assert.deepEqual([policy.classes, policy.max_uses, policy.times.idle_ms], [classes, 3, 250]);
    const scheduled = { schedule: '* 8-17 * * 1-5', time_zone: 'Europe/Berlin' };
    assert.deepEqual(policy.min_idle, [{ resource_class: 'tiny', usage_class: 'on-demand', count: 2, ...scheduled }]);
    const always = { schedule: null, time_zone: 'UTC' };
    assert.deepEqual(poolPolicyOf(load({ HEDDLE_POOL_MIN_IDLE: 'large=2, xlarge/spot=1' })).min_idle, [
      { resource_class: 'large', usage_class: 'on-demand', count: 2, ...always },
      { resource_class: 'xlarge', usage_class: 'spot', count: 1, ...always },
    ]);
  });

  it('describe launches on EC2, and do not show the environment of runners', () => {
    const loaded = loadConfiguration({
      flags: {},
      environment: {
        HEDDLE_POOL_PROVIDER: 'ec2',
        HEDDLE_POOL_EC2_REGION: 'eu-central-1',
        HEDDLE_POOL_EC2_IMAGE: 'ami-1',
        HEDDLE_POOL_EC2_INSTANCE_TYPES: 'large=m7i.large,xlarge=m7i.xlarge,large=m6i.large',
        HEDDLE_POOL_EC2_ENVIRONMENT: 'HEDDLE_URL=https://heddle.internal,HEDDLE_TOKEN=hidden',
      },
      workingDirectory: directory,
    });
    const { parameters, ...others } = ec2SettingsOf(loaded.values);
    assert.deepEqual(others, {
      region: 'eu-central-1',
      endpoint: null,
      pool: 'heddle',
      template: null,
      subnet_ids: [],
      instance_types: { large: ['m7i.large', 'm6i.large'], xlarge: ['m7i.xlarge'] },
    });
    assert.match(parameters!.user_data, /export HEDDLE_TOKEN='hidden'/);
    assert.doesNotMatch(JSON.stringify(loaded.effective), /hidden/);
    const template = { HEDDLE_POOL_PROVIDER: 'ec2', HEDDLE_POOL_EC2_REGION: 'x', HEDDLE_POOL_EC2_TEMPLATE: 'lt-1:7' };
    assert.deepEqual(ec2SettingsOf(load(template)).template, { id: 'lt-1', version: '7' });
  });

  const corpus = JSON.parse(readFileSync(join(import.meta.dirname, 'bad-settings.json'), 'utf8')) as [
    Environment,
    ...string[],
  ][];
  for (const [environment, ...expected] of corpus) {
    it(`refuse ${JSON.stringify(environment)} by name`, () => {
      const faults = faultsOf(environment);
      for (const each of expected) {
        assert.ok(
          faults.some((fault) => fault.startsWith(each)),
          `${each}\n${faults.join('\n')}`,
        );
      }
    });
  }
});
