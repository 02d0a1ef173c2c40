/** `heddle executor` as a real process: every listener with mutual TLS, the jail, clients in two languages. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { request } from 'node:https';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { PROTOCOLS } from '@heddle/executor/protocol/messages';
import { eventually } from '@heddle/test-support/eventually';
import { heddle, HeddleProcess } from '@heddle/test-support/app/heddle-process';
import { endpointOf, ExecutorSite, withoutJail, type Ready } from '../../support/app/executor/executor-process.ts';

const PYTHON_CLIENT = join(import.meta.dirname, '../../../../../examples/python-executor-client/heddle_executor.py');
const withoutPython =
  spawnSync('python3', ['--version']).status === 0
    ? false
    : 'python3 is not on this machine: the client in Python was NOT run';
for (const missing of [withoutJail, withoutPython]) if (missing !== false) console.error(missing);

const TEXT = { text: 'to be or not to be' };
const COUNTS = { to: 2, be: 2, or: 1, not: 1 };

describe('an executor with mutual TLS', () => {
  const site = new ExecutorSite();
  let ready: Ready;

  before(async () => {
    await site.prepare();
    const tier = withoutJail === false ? 'jail' : 'process';
    ready = await site.start({ ...site.mutualTls, HEDDLE_EXECUTOR_TIER: tier });
  });

  after(() => site.dispose());

  test('reports its listeners, the isolation of tasks and its events', () => {
    assert.deepEqual(ready.events, ['Primes', 'WordCount']);
    assert.equal(ready.tier, withoutJail === false ? 'jail' : 'process');
    assert.deepEqual(
      ready.listeners.map(({ url }) => new URL(url).protocol),
      ['grpc:', 'xmlrpc:', 'tcp:', 'https:'],
    );
  });

  for (const protocol of PROTOCOLS) {
    test(`runs events over ${protocol} for callers with a certificate`, async () => {
      const client = site.client(endpointOf(ready, protocol));
      try {
        assert.deepEqual(await client.submit('WordCount', TEXT), COUNTS);
        await assert.rejects(client.submit('WordCount', { text: 7 }), { code: 'INVALID_ARGS' });
        await assert.rejects(client.submit('Nope'), { code: 'EVENT_NOT_REGISTERED' });
        const task = await client.submitAsync('Primes', { below: 100 });
        assert.deepEqual(await task.result(), { count: 25, largest: [73, 79, 83, 89, 97] });
        const status = await client.status();
        assert.equal(status.status, 'healthy');
      } finally {
        await client.close();
      }
    });
  }

  test('a task belongs to the caller who submitted it', async () => {
    const endpoint = endpointOf(ready, 'tcp');
    const [laptop, other] = [site.client(endpoint), site.client(endpoint, 'other')];
    try {
      const task = await laptop.submitAsync('Primes', { below: 1_000 });
      const { correlationId } = task;
      await assert.rejects(other.poll({ correlationId, endpoint }), { code: 'NOT_FOUND' });
      await assert.rejects(other.cancel({ correlationId, endpoint }), { code: 'NOT_FOUND' });
      assert.deepEqual(await task.result(), { count: 168, largest: [971, 977, 983, 991, 997] });
    } finally {
      await Promise.all([laptop.close(), other.close()]);
    }
  });

  for (const protocol of ['tcp', 'xmlrpc']) {
    test(`the client in Python runs events over ${protocol}`, { skip: withoutPython }, () => {
      const python = (...args: string[]): { status: number | null; out: string } => {
        const flags = ['--client-file', site.clientFile, '--ca', site.ca];
        const tls = ['--cert', site.clientCert, '--key', site.clientKey];
        const endpoint = endpointOf(ready, protocol).replace('127.0.0.1', 'localhost');
        const run = spawnSync('python3', [PYTHON_CLIENT, '--executor', endpoint, ...flags, ...tls, ...args], {
          encoding: 'utf8',
        });
        return { status: run.status, out: run.stdout + run.stderr };
      };
      assert.deepEqual(JSON.parse(python('submit', 'WordCount', JSON.stringify(TEXT)).out), COUNTS);
      const refused = python('submit', 'WordCount', '{"text":null}');
      assert.equal(refused.status, 1);
      assert.match(refused.out, /INVALID_ARGS/);
      const id = JSON.parse(python('submit', '--async', 'Primes', '{"below":10}').out) as string;
      const polled = JSON.parse(python('poll', id).out) as { correlation_id: string };
      assert.equal(polled.correlation_id, id);
      assert.equal((JSON.parse(python('events').out) as unknown[]).length, 2);
    });
  }

  test('reports its status over HTTP, with the metrics of its tasks', async () => {
    const healthz = await get(new URL('/healthz', endpointOf(ready, 'http')), site);
    const { status, workers } = JSON.parse(healthz) as { status: string; workers: number };
    assert.deepEqual({ status, workers }, { status: 'healthy', workers: 8 });
    const metrics = await get(new URL('/metrics', endpointOf(ready, 'http')), site);
    assert.match(metrics, /volnux_tasks_total\{[^}]*event_name="WordCount"[^}]*\} \d/);
  });

  test('stops cleanly: what it wrote can be verified, and nothing remains', async () => {
    assert.equal(await site.run!.end('SIGTERM'), 0, site.run!.stderr);
    assert.equal(site.run!.events.at(-1)?.event, 'stopped');
    const verified = await heddle(['audit', 'verify', join(site.path, 'data/audit/audit.log')], {});
    assert.equal(verified.code, 0, verified.stderr);
    assert.deepEqual(site.processes(), []);
  });
});

describe('settings of an executor', () => {
  const faults = async (environment: Record<string, string>): Promise<{ code: number | null; stderr: string }> =>
    heddle(['executor'], { HEDDLE_EXECUTOR_DATA: '/nonexistent/heddle', ...environment });

  test('a start without keys, or beyond loopback without certificates, is rejected with a remedy', async () => {
    const { code, stderr } = await faults({ HEDDLE_EXECUTOR_TCP_BIND: '0.0.0.0:0' });
    assert.equal(code, 2);
    assert.match(stderr, /HEDDLE_EXECUTOR_KEYS.*heddle keys generate/);
    assert.match(stderr, /HEDDLE_EXECUTOR_TCP_BIND: 0\.0\.0\.0 is not a loopback address.*heddle certs dev/);
  });

  test('settings that depend on others name them', async () => {
    const { code, stderr } = await faults({
      HEDDLE_EXECUTOR_SECRET_KEY: 'short',
      HEDDLE_EXECUTOR_TLS_CERT: '/x.pem',
    });
    assert.equal(code, 2);
    assert.match(stderr, /HEDDLE_EXECUTOR_SECRET_KEY: must be base64url of at least 32 bytes/);
    assert.doesNotMatch(stderr, /short/);
  });

  test('a failed start names the setting and the remedy', async () => {
    const site = await new ExecutorSite().prepare();
    const base = { HEDDLE_EXECUTOR_TIER: 'pooled', HEDDLE_EXECUTOR_KEYS: join(site.path, 'keys/keys.json') };
    const told = async (environment: Record<string, string>): Promise<string> => {
      const { code, stderr } = await faults({
        ...base,
        HEDDLE_EXECUTOR_DATA: join(site.path, 'data'),
        ...environment,
      });
      assert.equal(code, 1, stderr);
      return stderr.split('\n').find((line) => line.startsWith('error[')) ?? stderr;
    };
    try {
      const file = join(site.path, 'certs/ca.pem');
      assert.match(await told({ HEDDLE_EXECUTOR_DATA: file }), /HEDDLE_EXECUTOR_DATA: .*ca\.pem cannot be used: /);
      assert.match(
        await told({ HEDDLE_EXECUTOR_KEYS: '/nonexistent/keys.json' }),
        /^error\[(USAGE|FAILED)\]: HEDDLE_EXECUTOR_KEYS: .*cannot be read.*heddle keys generate/,
      );
      assert.match(
        await told({ HEDDLE_EXECUTOR_EVENTS_DIR: '/nonexistent/events' }),
        /^error\[(USAGE|FAILED)\]: HEDDLE_EXECUTOR_EVENTS, HEDDLE_EXECUTOR_EVENTS_DIR: .*no such file or directory/,
      );
      const container = { HEDDLE_EXECUTOR_TIER: 'container', HEDDLE_EXECUTOR_CONTAINER_COMMAND: '/nonexistent/engine' };
      assert.match(
        await told(container),
        /^error\[(USAGE|FAILED)\]: HEDDLE_EXECUTOR_TIER: .*nonexistent\/engine could not inspect the image/,
      );
    } finally {
      await site.dispose();
    }
  });

  test('an interrupt during the start ends it without a fault', async () => {
    const site = await new ExecutorSite().prepare();
    const run = new HeddleProcess(['executor', '--json'], {
      HEDDLE_EXECUTOR_KEYS: join(site.path, 'keys/keys.json'),
      HEDDLE_EXECUTOR_DATA: join(site.path, 'data'),
      HEDDLE_EXECUTOR_TIER: 'container',
      // As a terminal does to the engine's command that is running meanwhile: it ends with a failure.
      HEDDLE_EXECUTOR_CONTAINER_COMMAND: interruptedEngine(site.path),
    });
    try {
      await eventually(() => existsSync(join(site.path, 'asked')), 'the engine is asked');
      run.child.kill('SIGINT');
      writeFileSync(join(site.path, 'interrupted'), '');
      assert.equal(await run.exited, 0, run.stderr);
      assert.deepEqual(run.events, [{ event: 'stopped' }]);
    } finally {
      await site.dispose();
    }
  });
});

/** A command that reports its call, and fails on a signal. */
function interruptedEngine(directory: string): string {
  const path = join(directory, 'engine');
  const wait = `while [ ! -e '${join(directory, 'interrupted')}' ]; do sleep 0.02; done`;
  writeFileSync(path, `#!/bin/sh\ntouch '${join(directory, 'asked')}'\n${wait}\nexit 1\n`, { mode: 0o755 });
  return path;
}

function get(url: URL, site: ExecutorSite): Promise<string> {
  return new Promise((resolve, reject) => {
    const tls = {
      ca: readFileSync(site.ca),
      cert: readFileSync(site.clientCert),
      key: readFileSync(site.clientKey),
    };
    const sent = request(url, tls, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve(text));
    });
    sent.on('error', reject).end();
  });
}
