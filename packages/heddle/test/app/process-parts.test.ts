import { join } from 'node:path';
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';

import { loadConfiguration } from '../../src/app/config.ts';
import { sharedPolicyOf } from '../../src/app/pool/shared-policy.ts';
import { optionsOf, PROCESS_ROLES, type ProcessOptions, type ProcessRole } from '../../src/app/process-parts.ts';
import type { Setting } from '../../src/app/setting.ts';
import { SETTINGS, type SettingKey, type SettingValues } from '../../src/app/settings.ts';

/**
 * Settings that every process must follow, each with a value other than its default, and the processes without use for
 * it.
 */
const SHARED: Partial<Record<SettingKey, { value: string; roles?: readonly ProcessRole[] }>> = {
  poolMaxSize: { value: '2' },
  poolMinIdle: { value: '1', roles: ['server'] },
  poolAcquireRetries: { value: '7' },
  poolTimeoutSecs: { value: '7' },
  listenUrl: { value: 'postgres://localhost/direct' },
  slowQueryThresholdMs: { value: '7' },
  statementTimeoutSecs: { value: '7' },
  workerClaimTimeoutSecs: { value: '77' },
  workerLeaseSecs: { value: '300' },
  archiveAfterSecs: { value: '7' },
  deleteAfterSecs: { value: '7' },
  tracingEnabled: { value: '1' },
  otlpEndpoint: { value: 'http://collector:4318' },
  otlpProtocol: { value: 'grpc' },
  otelServiceName: { value: 'other' },
  otelSamplingRatio: { value: '0.5' },
};

/** Settings of the pool that servers write to the database for every process. */
const POLICY: Partial<Record<SettingKey, string>> = {
  runnerClasses: '[{"name":"own","cpu":1,"memory_mib":512}]',
  runnerMaxUses: '1',
  runnerLaunchTimeoutMs: '601',
  runnerRegisterTimeoutMs: '181',
  runnerConfirmTimeoutMs: '11',
  runnerClaimTimeoutMs: '301',
  runnerIdleTimeoutMs: '20',
  runnerHeartbeatMs: '4',
  runnerHeartbeatMaxAgeMs: '16',
  runnerHeartbeatTimeoutMs: '31',
  runnerRecheckMs: '61',
  runnerReserveAfterMs: '9',
  runnerExitGraceMs: '61',
  runnerDisconnectTimeoutMs: '61',
};

/** Settings that only one part reads, by the prefix of the key or by group. */
const OF_ONE_PART: Readonly<Record<string, RegExp>> = {
  'where a process works':
    /^(databaseUrl|hostUrl|port|sharePort|host|dataDir|configFile|examples|migrateAtStart|queueUrl)$/,
  'the log of a process': /^log(Level|Format|File)$/,
  'the breaker of servers': /^breaker/,
  'loops, requests, webhooks and mail of servers':
    /^(workerLoopIntervalMs|managerReceivers|queuedKinds|pagination|bodyLimit|requireTokens|trustedProxies|metricsPublic|webhook|mail|smtp|batchChannelCapacity)/,
  'handlers of kinds': /^(kindModules|workerConcurrency|workerDrainSecs)$/,
  'the inbox of a manager': /^inboxKeepSecs$/,
  'the function of Lambda': /^lambda/,
  'launching, of the server that launches': /^(runner|ec2)/,
  'findings and models': /^(findingsKeepSecs|modelsKeepSecs)$/,
  'what webhooks may call': /^(skipSsrf|blocked|allowed)/,
  'scans and probes': /^(scan|verify|recon)/,
  commands: /^command/,
  'secrets of tasks': /^secretKey/,
  'files of tasks': /^artifact/,
  'the audit log': /^auditKeepSecs$/,
  logins: /^(session|oidc)/,
  'clients of executors': /^remote/,
  executors: /^executor/,
};

function load(key?: SettingKey, value?: string): SettingValues {
  const environment = key === undefined ? {} : { [SETTINGS[key].name]: value! };
  return loadConfiguration({ flags: {}, environment, workingDirectory: process.cwd() }).values;
}

describe('from settings to the options of a process', () => {
  const keys = Object.keys(SETTINGS) as SettingKey[];
  const defaults = load();

  for (const [key, { value, roles = PROCESS_ROLES }] of Object.entries(SHARED) as [
    SettingKey,
    { value: string; roles?: readonly ProcessRole[] },
  ][]) {
    it(`${SETTINGS[key].name} reaches ${roles.join(', ')}`, () => {
      const changed = load(key, value);
      const differs = (role: ProcessRole): boolean =>
        textOf(optionsOf(role, changed)) !== textOf(optionsOf(role, defaults));
      assert.deepEqual(PROCESS_ROLES.filter(differs), roles);
    });
  }

  it('the policy has all settings of the pool that concern more than launching', () => {
    for (const [key, value] of Object.entries(POLICY) as [SettingKey, string][]) {
      assert.notDeepEqual(sharedPolicyOf(load(key, value)), sharedPolicyOf(defaults), SETTINGS[key].name);
    }
  });

  it('every setting is one of these, or belongs to one part', () => {
    const unknown = keys.filter((key) => {
      if (key in SHARED || key in POLICY) return false;
      return !Object.values(OF_ONE_PART).some((pattern) => pattern.test(key));
    });
    const names = unknown.map((key) => (SETTINGS[key] as Setting<unknown>).name);
    assert.deepEqual(names, [], 'say in this test which processes they are to reach');
  });

  it('options read no setting that this test does not name', () => {
    const read = new Set<string>();
    const watched = new Proxy(defaults, {
      get(target, name: string) {
        read.add(name);
        return target[name as SettingKey];
      },
    });
    for (const role of PROCESS_ROLES) optionsOf(role, watched);
    assert.deepEqual([...read].sort(), Object.keys(SHARED).sort());
  });

  it('no process opens an engine, a database or traces without it', () => {
    const past = globSync(join(import.meta.dirname, '../../src/app/**/*.ts')).filter((path) => {
      // The database of a short command.
      if (/process-parts|database-access/.test(path)) return false;
      return /\b(createEngine|openDatabase|createTracer)\(/.test(readFileSync(path, 'utf8'));
    });
    assert.deepEqual(past, []);
  });
});

function textOf(options: ProcessOptions): string {
  return JSON.stringify(options);
}
