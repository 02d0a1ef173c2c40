import { readFile } from 'node:fs/promises';

import type { Executors } from '../../kinds/remote/executors.ts';
import type { UnreachableExecutor } from '@heddle/core/engine/overview/port';
import type { EndpointState } from '@heddle/executor/client/options';
import { RemoteExecutor } from '@heddle/executor/client/remote-executor';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import type { Random } from '@heddle/base/random';
import { ConfigurationError } from '@heddle/base/terminal/failure';
import { parseExecutorEntry, UNNAMED } from '../remote-client-settings.ts';
import type { SettingValues } from '../settings.ts';
import type { StopSequence } from '../stop-sequence.ts';

export type RemoteClientSettings = Pick<
  SettingValues,
  'remoteExecutors' | 'remoteClient' | 'remoteCa' | 'remoteCert' | 'remoteKey' | 'remoteToken'
>;

export interface OpenExecutorsOptions {
  settings: RemoteClientSettings;
  clock: Clock;
  random: Random;
  log: Logger;
  /** 0 to disable health checks. */
  healthIntervalMs?: number;
}

/** The configured executors, each a name with interchangeable endpoints. */
export class ConfiguredExecutors implements Executors {
  readonly #byName: ReadonlyMap<string, RemoteExecutor>;

  constructor(byName: ReadonlyMap<string, RemoteExecutor>) {
    this.#byName = byName;
  }

  get names(): readonly string[] {
    return [...this.#byName.keys()];
  }

  find(name: string | null): RemoteExecutor | null {
    return this.#byName.get(name ?? this.names[0] ?? '') ?? null;
  }

  /** Returns what is known of each endpoint, without a request. */
  list(): (EndpointState & { executor: string })[] {
    return [...this.#byName].flatMap(([executor, remote]) =>
      remote.endpoints().map((state) => ({ executor, ...state })),
    );
  }

  unreachable(): UnreachableExecutor[] {
    const silent = this.list().filter(({ state }) => state === 'unreachable');
    return silent.map(({ executor, endpoint, answered_at, last_error }) => {
      return { executor, endpoint, since: answered_at, message: last_error?.message ?? null };
    });
  }

  /** Starts periodic health checks of each endpoint. */
  async check(): Promise<void> {
    await Promise.all([...this.#byName.values()].map((remote) => remote.checkEndpoints()));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#byName.values()].map((remote) => remote.close()));
  }
}

/**
 * Opens clients of the configured executors; they connect when needed. Returns null if none is configured.
 * @throws ConfigurationError if the settings contradict each other
 */
export function openExecutors(options: OpenExecutorsOptions): ConfiguredExecutors | null {
  const { settings, clock, random, log, healthIntervalMs } = options;
  if (settings.remoteExecutors.length === 0) return null;
  const groups = Map.groupBy(settings.remoteExecutors.map(parseExecutorEntry), ({ name }) => name);
  const files = new Map(settings.remoteClient.map(parseExecutorEntry).map(({ name, value }) => [name, value]));
  requireComplete(settings, [...groups.keys()], files);
  const common = { clock, random, log, ...credentialsOf(settings) };
  const health = healthIntervalMs === undefined ? {} : { healthIntervalMs };
  const clients = [...groups].map(([name, entries]) => {
    const endpoints = entries.map(({ value }) => value);
    const credentials = files.get(name) ?? files.get(UNNAMED)!;
    return [name, new RemoteExecutor({ endpoints, credentials, ...common, ...health })] as const;
  });
  return new ConfiguredExecutors(new Map(clients));
}

/** Does the same for a server, with health checks from the start, so that there is something to show. */
export function watchExecutors(
  options: Omit<OpenExecutorsOptions, 'healthIntervalMs'> & { stopping: StopSequence },
): ConfiguredExecutors | null {
  const executors = openExecutors(options);
  if (executors === null) return null;
  options.stopping.add('the executors', () => executors.close());
  executors.check().catch((error: unknown) => options.log.debug({ err: error }, 'could not check the executors'));
  return executors;
}

function credentialsOf({ remoteCa, remoteCert, remoteKey, remoteToken }: RemoteClientSettings) {
  const certificate = remoteCert === '' ? {} : { certFile: remoteCert, keyFile: remoteKey };
  return {
    ...(remoteCa === '' ? {} : { tls: { caFile: remoteCa, ...certificate } }),
    ...(remoteToken === '' ? {} : { token: async () => (await readFile(remoteToken, 'utf8')).trim() }),
  };
}

function requireComplete(
  settings: RemoteClientSettings,
  names: readonly string[],
  files: ReadonlyMap<string, string>,
): void {
  const { remoteExecutors, remoteCa, remoteCert, remoteKey } = settings;
  const faults: string[] = [];
  for (const name of names) {
    if (files.has(name) || files.has(UNNAMED)) continue;
    faults.push(
      `HEDDLE_EXECUTOR_CLIENT: is required for the executor ${name}: a key file of a client, written by \`heddle keys generate\``,
    );
  }
  const needsTls = remoteExecutors.some((entry) => !parseExecutorEntry(entry).value.includes('+plain:'));
  if (needsTls && remoteCa === '') {
    faults.push('HEDDLE_EXECUTOR_CA: is required for executors with TLS: the authority that issued their certificates');
  }
  if ((remoteCert === '') !== (remoteKey === '')) {
    faults.push('HEDDLE_EXECUTOR_CERT and HEDDLE_EXECUTOR_KEY: set both or neither');
  }
  if (faults.length > 0) throw new ConfigurationError(faults);
}
