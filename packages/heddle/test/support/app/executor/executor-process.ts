/** Executors as real processes, with keys and certificates created by the command line. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { probePort } from '../../../../src/app/listener.ts';
import type { ExecutorEvent } from '../../../../src/app/remote/executor-events.ts';
import { RemoteExecutor } from '@heddle/executor/client';
import { eventually } from '@heddle/test-support/eventually';
import { temporaryDirectory } from '@heddle/test-support/postgres';
import { heddle, HeddleProcess, type Environment } from '@heddle/test-support/app/heddle-process';

export const EXAMPLE_EVENTS = join(import.meta.dirname, '../../../../../../examples/remote-events');
/** Events that leave traces where the tests read them: not for the jail. */
export const TRACING_EVENTS = join(import.meta.dirname, 'events');

const bubblewrap = spawnSync('bwrap', ['--version']).status === 0;
export const withoutJail =
  process.platform === 'linux' && bubblewrap
    ? false
    : 'bubblewrap is not on this machine: executors with the tier jail were NOT run';

export type Ready = ExecutorEvent & { event: 'ready' };

const LISTENERS = ['GRPC', 'XMLRPC', 'TCP', 'HTTP'].map(
  (name) => [`HEDDLE_EXECUTOR_${name}_BIND`, '127.0.0.1:0'] as const,
);

/** A directory with keys, certificates and an executor's data, for any number of consecutive runs. */
export class ExecutorSite {
  readonly path = temporaryDirectory('heddle-executor-');
  readonly clientFile = join(this.path, 'keys/client-laptop.json');
  readonly ca = join(this.path, 'certs/ca.pem');
  readonly clientCert = join(this.path, 'certs/client-laptop.pem');
  readonly clientKey = join(this.path, 'certs/client-laptop-key.pem');
  run: HeddleProcess | undefined;

  /** The two commands of a secure setup. */
  async prepare(): Promise<this> {
    const clients = ['--client', 'laptop', '--client', 'other'];
    await Promise.all([
      command('keys', 'generate', '--out', join(this.path, 'keys'), ...clients),
      command('certs', 'dev', '--out', join(this.path, 'certs'), ...clients),
    ]);
    return this;
  }

  async start(environment: Environment = {}): Promise<Ready> {
    const settings = {
      ...Object.fromEntries(LISTENERS),
      HEDDLE_EXECUTOR_KEYS: join(this.path, 'keys/keys.json'),
      HEDDLE_EXECUTOR_DATA: join(this.path, 'data'),
      HEDDLE_EXECUTOR_ALLOWED_EVENTS: '*',
      HEDDLE_EXECUTOR_EVENTS_DIR: EXAMPLE_EVENTS,
      ...environment,
    };
    this.run = new HeddleProcess(['executor', '--json'], settings);
    return this.run.event<Ready>('ready');
  }

  /** Settings of listeners that require certificates. */
  get mutualTls(): Environment {
    const certs = join(this.path, 'certs');
    return {
      HEDDLE_EXECUTOR_TLS_CERT: join(certs, 'server.pem'),
      HEDDLE_EXECUTOR_TLS_KEY: join(certs, 'server-key.pem'),
      HEDDLE_EXECUTOR_CLIENT_CA: join(certs, 'ca.pem'),
    };
  }

  client(endpoint: string, name = 'laptop'): RemoteExecutor {
    const certs = join(this.path, 'certs');
    const tls = {
      caFile: this.ca,
      certFile: join(certs, `client-${name}.pem`),
      keyFile: join(certs, `client-${name}-key.pem`),
    };
    const credentials = join(this.path, `keys/client-${name}.json`);
    return new RemoteExecutor({ endpoints: [endpoint], credentials, ...(endpoint.includes('+plain') ? {} : { tls }) });
  }

  async kill(): Promise<void> {
    assert.equal(await this.run?.end('SIGKILL'), null);
  }

  async dispose(): Promise<void> {
    if (this.run?.ended === false) await this.run.end('SIGKILL');
    await eventually(() => this.processes().length === 0, `no process of ${this.path} is left`);
    rmSync(this.path, { recursive: true, force: true });
  }

  /** Processes of this site, which have its data directory in their environment or arguments. */
  processes(): number[] {
    const found = spawnSync('pgrep', ['-f', this.path], { encoding: 'utf8' });
    return found.stdout
      .split('\n')
      .filter((line) => line !== '')
      .map(Number);
  }
}

/** A port that is free and stays free between two runs: outside the range of outgoing connections. */
export async function lastingPort(): Promise<number> {
  for (;;) {
    const port = randomInt(61_000, 65_000);
    if ((await probePort('127.0.0.1', port).catch(() => null)) === port) return port;
  }
}

export function endpointOf({ listeners }: Ready, protocol: string): string {
  const found = listeners.find((listener) => listener.protocol === protocol);
  assert.ok(found, `no ${protocol} listener`);
  return found.url;
}

async function command(...args: string[]): Promise<void> {
  const { code, stderr } = await heddle(args, {});
  assert.equal(code, 0, stderr);
}
