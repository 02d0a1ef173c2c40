import { readFile } from 'node:fs/promises';

import type { Executors } from '../../kinds/remote/executors.ts';
import type { EndpointState } from '../../remote/client/options.ts';
import { RemoteExecutor } from '../../remote/client/remote-executor.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Random } from '../../runtime/random.ts';
import { ConfigurationError } from '../failure.ts';
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
  /** 0 where nobody looks at their health. */
  healthIntervalMs?: number;
}

/** The configured executors, each a name with the endpoints that stand in for each other. */
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

  /** What is known of each endpoint, without asking any. */
  list(): (EndpointState & { executor: string })[] {
    return [...this.#byName].flatMap(([executor, remote]) =>
      remote.endpoints().map((state) => ({ executor, ...state })),
    );
  }

  /** Asks each endpoint how it is; from then on they are asked now and then. */
  async check(): Promise<void> {
    await Promise.all([...this.#byName.values()].map((remote) => remote.checkEndpoints()));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#byName.values()].map((remote) => remote.close()));
  }
}

/**
 * Clients of the configured executors; connections are made when they are needed. Null where none is configured.
 *
 * @throws ConfigurationError where the settings do not go together
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

/** The same for a server: their health is asked for from the start, so that there is something to show. */
export function watchExecutors(
  options: Omit<OpenExecutorsOptions, 'healthIntervalMs'> & { stopping: StopSequence },
): ConfiguredExecutors | null {
  const executors = openExecutors(options);
  if (executors === null) return null;
  options.stopping.add('the executors', () => executors.close());
  executors.check().catch((error: unknown) => options.log.debug({ err: error }, 'The executors could not be asked'));
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
      `HEDDLE_EXECUTOR_CLIENT: is required for the executor ${name}: the file of a client, which \`heddle keys generate\` makes`,
    );
  }
  const needsTls = remoteExecutors.some((entry) => !parseExecutorEntry(entry).value.includes('+plain:'));
  if (needsTls && remoteCa === '') {
    faults.push('HEDDLE_EXECUTOR_CA: is required for executors with TLS: the authority of their certificates');
  }
  if ((remoteCert === '') !== (remoteKey === '')) {
    faults.push('HEDDLE_EXECUTOR_CERT and HEDDLE_EXECUTOR_KEY: a certificate needs its key, and a key its certificate');
  }
  if (faults.length > 0) throw new ConfigurationError(faults);
}
