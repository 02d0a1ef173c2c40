import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';

import { loadConfiguration, type Configuration } from '../../src/app/config.ts';
import { ConfigurationError } from '@heddle/base/terminal/failure';
import type { Setting } from '../../src/app/setting.ts';
import { SETTING_GROUPS, SETTINGS } from '../../src/app/settings.ts';
import { temporaryDirectory } from '@heddle/test-support/postgres';

const directory = temporaryDirectory('heddle-config-');
after(() => rmSync(directory, { recursive: true }));

function load(environment: Record<string, string> = {}, flags: Record<string, string> = {}): Configuration {
  return loadConfiguration({ flags, environment, workingDirectory: directory });
}

function faultsOf(environment: Record<string, string>, flags?: Record<string, string>): readonly string[] {
  try {
    load(environment, flags);
  } catch (error) {
    assert.ok(error instanceof ConfigurationError, String(error));
    return error.faults;
  }
  throw new Error('the configuration was taken');
}

function writeConfig(name: string, content: unknown): string {
  const path = join(directory, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

/** A line of YAML that expands to many times the previous one. */
function expanding(name: string, before: string): string {
  return `${name}: &${name} [${Array(10).fill(`*${before}`).join(', ')}]\n`;
}

/** The variables of clients of the original service, with the defaults that they rely on. */
const PROMISED: Readonly<Record<string, string>> = {
  DATABASE_URL: '',
  HOST_URL: '',
  PORT: '8085',
  RUST_LOG: 'info',
  POOL_MAX_SIZE: '10',
  POOL_MIN_IDLE: '5',
  POOL_ACQUIRE_RETRIES: '3',
  POOL_TIMEOUT_SECS: '30',
  PAGINATION_DEFAULT: '50',
  PAGINATION_MAX: '100',
  WORKER_LOOP_INTERVAL_MS: '1000',
  WORKER_CLAIM_TIMEOUT_SECS: '30',
  BATCH_CHANNEL_CAPACITY: '100',
  CIRCUIT_BREAKER_ENABLED: '1',
  CIRCUIT_BREAKER_FAILURE_THRESHOLD: '5',
  CIRCUIT_BREAKER_FAILURE_WINDOW_SECS: '10',
  CIRCUIT_BREAKER_RECOVERY_TIMEOUT_SECS: '30',
  CIRCUIT_BREAKER_SUCCESS_THRESHOLD: '2',
  SLOW_QUERY_THRESHOLD_MS: '100',
  TRACING_ENABLED: '0',
  OTEL_EXPORTER_OTLP_ENDPOINT: '',
  OTEL_SERVICE_NAME: 'task-runner',
  OTEL_SAMPLING_RATIO: '1.0',
  SKIP_SSRF_VALIDATION: '0',
  BLOCKED_HOSTNAMES: 'localhost,127.0.0.1,::1,0.0.0.0,local,internal',
  BLOCKED_HOSTNAME_SUFFIXES: '.local,.internal,.localdomain,.localhost',
};

describe('the configuration', () => {
  test('has every promised variable at its promised default', () => {
    const values = Object.fromEntries(load().effective.map(({ name, value }) => [name, value]));
    for (const [name, expected] of Object.entries(PROMISED)) assert.equal(values[name], expected, name);
  });

  test('applies flags over environment over file over defaults, and reports the source', () => {
    const file = writeConfig('order.json', { PORT: 1, POOL_MAX_SIZE: 20, OTEL_SERVICE_NAME: 'of-file' });
    const { values, effective } = load({ HEDDLE_CONFIG: file, PORT: '2', POOL_MAX_SIZE: '30' }, { PORT: '3' });
    assert.deepEqual(
      [values.port, values.poolMaxSize, values.otelServiceName, values.poolMinIdle],
      [3, 30, 'of-file', 5],
    );
    const sources = Object.fromEntries(effective.map(({ key, source }) => [key, source]));
    assert.deepEqual(
      [sources['port'], sources['poolMaxSize'], sources['otelServiceName'], sources['poolMinIdle']],
      ['flag', 'environment', 'file', 'default'],
    );
  });

  test('reads YAML as it reads JSON, by the name of the file', () => {
    const content = { PORT: 1, HEDDLE_EXAMPLES: false, BLOCKED_HOSTNAMES: ['a', 'b'], OTEL_SERVICE_NAME: 'of-file' };
    const yaml = ['# ours', 'PORT: 1', 'HEDDLE_EXAMPLES: false', 'BLOCKED_HOSTNAMES:', '  - a', '  - b'];
    const files = {
      'same.json': content,
      'same.yaml': content,
      'same.yml': [...yaml, "OTEL_SERVICE_NAME: 'of-file'", ''].join('\n'),
    };
    const read = Object.entries(files).map(([name, text]) => ({
      ...load({ HEDDLE_CONFIG: writeConfig(name, text) }).values,
      configFile: '',
    }));
    assert.deepEqual(read[1], read[0]);
    assert.deepEqual(read[2], read[0]);
    assert.deepEqual([read[0]!.port, read[0]!.blockedHostnames], [1, ['a', 'b']]);
  });

  test('finds heddle.yaml in the data directory, and rejects a second file beside it', () => {
    const dataDir = temporaryDirectory('heddle-config-data-');
    writeFileSync(join(dataDir, 'heddle.yaml'), 'PORT: 7');
    const { values, file } = load({ HEDDLE_DATA_DIR: dataDir });
    writeFileSync(join(dataDir, 'heddle.json'), '{}');
    const faults = faultsOf({ HEDDLE_DATA_DIR: dataDir });
    rmSync(dataDir, { recursive: true });
    assert.deepEqual([values.port, file], [7, join(dataDir, 'heddle.yaml')]);
    assert.match(faults.join(), /^HEDDLE_CONFIG: .*heddle\.json and .*heddle\.yaml both exist; keep one$/);
  });

  test('reports the position of invalid YAML', () => {
    const cases: [content: string, fault: RegExp][] = [
      ['PORT: 1\nPORT: 2', /bad\.yaml: is not valid YAML: Map keys must be unique at line 2, column 1$/],
      ['PORT: !port 1', /bad\.yaml: is not valid YAML: Unresolved tag: !port at line 1, column 7$/],
      ['PORT: [1', /bad\.yaml: is not valid YAML: .* at line 1/],
      [
        `a: &a [x, x, x]\n${expanding('b', 'a')}${expanding('c', 'b')}${expanding('d', 'c')}`,
        /is not valid YAML: .*alias/,
      ],
      ['- PORT', /bad\.yaml: must be an object/],
    ];
    for (const [content, fault] of cases) {
      assert.match(faultsOf({ HEDDLE_CONFIG: writeConfig('bad.yaml', content) }).join('\n'), fault);
    }
  });

  test('finds heddle.json in the data directory', () => {
    const dataDir = temporaryDirectory('heddle-config-data-');
    writeFileSync(join(dataDir, 'heddle.json'), '{"HEDDLE_EXAMPLES": false, "BLOCKED_HOSTNAMES": ["a", "b"]}');
    const { values, file } = load({ HEDDLE_DATA_DIR: dataDir });
    rmSync(dataDir, { recursive: true });
    assert.equal(file, join(dataDir, 'heddle.json'));
    assert.equal(values.examples, false);
    assert.deepEqual(values.blockedHostnames, ['a', 'b']);
  });

  test('reports every fault at once: the variable, the given value, what is allowed', () => {
    const faults = faultsOf({
      PORT: '70000',
      OTEL_SAMPLING_RATIO: '2',
      CIRCUIT_BREAKER_ENABLED: 'maybe',
      HOST_URL: 'example.com',
      HEDDLE_LOG_FORMAT: 'xml',
      HEDDLE_ALLOWED_WEBHOOK_CIDRS: '10.0.0.0/33',
    });
    assert.deepEqual([...faults].sort(), [
      'CIRCUIT_BREAKER_ENABLED: must be 1 or 0 (or true, false, on, off), not "maybe" (environment)',
      'HEDDLE_ALLOWED_WEBHOOK_CIDRS: must be a comma-separated list of IP addresses or ranges such as 10.1.0.0/16, not "10.0.0.0/33" (environment)',
      'HEDDLE_LOG_FORMAT: must be one of auto, json, pretty, not "xml" (environment)',
      'HOST_URL: must be a URL that starts with http:// or https://, not "example.com" (environment)',
      'OTEL_SAMPLING_RATIO: must be a number between 0.0 and 1.0, not "2" (environment)',
      'PORT: must be a whole number between 0 and 65535, not "70000" (environment)',
    ]);
  });

  test('accepts only decimal numbers', () => {
    for (const PORT of ['-1', '1e3', '0x10', '80.5', '8085 ;', 'Infinity', 'NaN']) {
      assert.match(faultsOf({ PORT }).join('\n'), /^PORT: must be a whole number/);
    }
  });

  test('never shows a secret, neither in values nor in faults', () => {
    const key = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
    const { effective } = load({
      DATABASE_URL: 'postgres://me:hunter2@db1:5432,db2:5433/heddle?sslpassword=hunter3',
      HEDDLE_WEBHOOK_SECRETS: `${key},${key}`,
    });
    const shown = JSON.stringify(effective);
    for (const secret of ['hunter2', 'hunter3', key.slice(6)]) assert.ok(!shown.includes(secret), secret);
    const faults = faultsOf({ DATABASE_URL: 'mysql://me:hunter2@db/x', HEDDLE_WEBHOOK_SECRETS: 'whsec_hunter3' });
    assert.equal(faults.length, 2);
    assert.doesNotMatch(faults.join('\n'), /hunter/);
  });

  test('reads several signing keys, the first of which signs first', () => {
    const texts = [1, 2].map((byte) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`);
    const { values } = load({ HEDDLE_WEBHOOK_SECRETS: texts.join(', ') });
    assert.deepEqual(
      values.webhookSecrets.map((bytes) => bytes[0]),
      [1, 2],
    );
  });

  test('treats an empty variable as unset, and as the empty list', () => {
    const { values } = load({ PORT: '', DATABASE_URL: ' ', BLOCKED_HOSTNAMES: '' });
    assert.deepEqual([values.port, values.databaseUrl, values.blockedHostnames], [8085, null, []]);
  });

  test('maps RUST_LOG to a level', () => {
    assert.equal(load({ RUST_LOG: 'warn,task_runner=debug' }).values.logLevel, 'debug');
    assert.equal(load({ RUST_LOG: 'off' }).values.logLevel, 'silent');
  });

  test('reads the short names of settings, too', () => {
    assert.deepEqual(load({ SSRF_ALLOWED_CIDRS: '10.0.0.0/8' }).values.allowedCidrs, ['10.0.0.0/8']);
  });

  test('rejects an unusable file and names the fault', () => {
    const cases: [content: unknown, fault: RegExp][] = [
      ['{"PORT": 1,}', /bad\.json: is not valid JSON/],
      [[1], /bad\.json: must be an object/],
      [{ PROT: 1 }, /^PROT: unknown setting \(file\)/],
      [{ PORT: { a: 1 } }, /^PORT: must be a string, a number/],
      [{ PORT: 'x' }, /^PORT: must be a whole number .* not "x" \(file\)/],
    ];
    for (const [content, fault] of cases) {
      assert.match(faultsOf({ HEDDLE_CONFIG: writeConfig('bad.json', content) }).join('\n'), fault);
    }
    assert.match(
      faultsOf({ HEDDLE_CONFIG: 'missing.json' }).join('\n'),
      /^HEDDLE_CONFIG: .*missing\.json cannot be read/,
    );
  });

  test('rejects contradictory settings', () => {
    assert.match(faultsOf({ POOL_MAX_SIZE: '4', POOL_MIN_IDLE: '6' }).join(), /POOL_MIN_IDLE: must be at most/);
    assert.match(faultsOf({ PAGINATION_DEFAULT: '200' }).join(), /PAGINATION_DEFAULT: must be at most PAGINATION_MAX/);
  });

  test('adapts defaults to given values, so that no setting alone contradicts another', () => {
    const of = (environment: Record<string, string>): ((name: string) => string | undefined) => {
      const { effective } = load(environment);
      return (name) => effective.find((each) => each.name === name)?.value;
    };
    const shown = Object.entries({
      POOL_MAX_SIZE: ['4', { POOL_MIN_IDLE: '4' }],
      PAGINATION_MAX: ['20', { PAGINATION_DEFAULT: '20' }],
      HEDDLE_POOL_BATCH_MAX: ['21', { HEDDLE_POOL_LAUNCH_BURST: '21' }],
      HEDDLE_POOL_LAUNCH_BURST: ['3', { HEDDLE_POOL_BATCH_MAX: '3' }],
      HEDDLE_POOL_HEARTBEAT_MAX_AGE_SECS: ['9', { HEDDLE_POOL_HEARTBEAT_SECS: '4.5' }],
      HEDDLE_POOL_HEARTBEAT_TIMEOUT_SECS: [
        '2',
        { HEDDLE_POOL_HEARTBEAT_MAX_AGE_SECS: '2', HEDDLE_POOL_HEARTBEAT_SECS: '1' },
      ],
      HEDDLE_POOL_HEARTBEAT_SECS: [
        '20',
        {
          HEDDLE_POOL_HEARTBEAT_MAX_AGE_SECS: '40',
          HEDDLE_POOL_HEARTBEAT_TIMEOUT_SECS: '40',
          HEDDLE_POOL_CONFIRM_TIMEOUT_SECS: '20',
        },
      ],
      HEDDLE_POOL_CLAIM_TIMEOUT_SECS: ['2', { HEDDLE_POOL_CONFIRM_TIMEOUT_SECS: '2', HEDDLE_POOL_HEARTBEAT_SECS: '2' }],
    } satisfies Record<string, [string, Record<string, string>]>);
    for (const [name, [value, fitted]] of shown) {
      const effective = of({ [name]: value });
      assert.equal(effective(name), value, name);
      for (const [other, expected] of Object.entries(fitted))
        assert.equal(effective(other), expected, `${name}: ${other}`);
    }
  });

  test('reports misspelled variables with its own prefix only', () => {
    const { unknownVariables } = load({ HEDDLE_DATADIR: '/x', HEDDLE_TOKEN: 't', HEDDLE_URL: 'u', PATH: '/bin' });
    assert.deepEqual(unknownVariables, ['HEDDLE_DATADIR']);
    assert.match(faultsOf({}, { PROT: '1' }).join(), /PROT: unknown setting \(flag\)/);
  });
});

describe('docs/configuration.md', () => {
  const text = readFileSync(join(import.meta.dirname, '../../../../docs/configuration.md'), 'utf8');

  test('shows each group of settings as it is declared', () => {
    for (const [title, group] of Object.entries(SETTING_GROUPS)) {
      const rows = (Object.values(group) as Setting<unknown>[]).map(({ name, fallbackText, description }) => {
        const shown = /^$|[` ]|^-$/.test(fallbackText) ? fallbackText : `\`${fallbackText}\``;
        return `| \`${name}\` | ${shown} | ${description} |`;
      });
      const table = [`### ${title}`, '', '| Variable | Default | Meaning |', '| --- | --- | --- |', ...rows].join('\n');
      assert.ok(text.includes(`${table}\n`), `the section ${title} must read:\n\n${table}\n`);
    }
  });

  test('names no variable that is not declared', () => {
    const known = new Set<string>(Object.values(SETTINGS).flatMap(({ name, aliases }) => [name, ...aliases]));
    const named = [...text.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name!);
    assert.deepEqual(
      named.filter((name) => !known.has(name) && !/^HEDDLE_(URL|TOKEN)$/.test(name)),
      [],
    );
  });
});
