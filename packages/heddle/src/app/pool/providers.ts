import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';

import { messageOf } from '@heddle/base/thrown';
import { LaunchFailure, type RunnerProvider } from '@heddle/core/pool/port/provider';
import { openEc2Provider } from '@heddle/core/pool/providers/ec2/open';
import { runnersHome } from '@heddle/core/pool/providers/process/home';
import { ProcessProvider } from '@heddle/core/pool/providers/process/provider';
import { childEnvironment } from '@heddle/base/child-environment';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { ConfigurationError } from '@heddle/base/terminal/failure';
import { SETTING_GROUPS, SETTINGS, type SettingValues } from '../settings.ts';
import { ec2SettingsOf } from './ec2.ts';

export interface ProviderOptions {
  settings: SettingValues;
  /** URL of this server for programs of this machine. */
  url: string;
  /** Returns the credential of a runner. */
  credentialOf: (runnerId: string) => Promise<string>;
  /** Settings that differ from the environment of this process, by variable: for the runners that it starts. */
  runnerVariables: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  log: Logger;
  /** Called when a runner process on this machine ended without being asked to. */
  onEnded: (runnerId: string, reason: string) => void;
}

const MAIN = fileURLToPath(
  new URL(`../../cli/main${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url),
);
/** Grace period for the task of a runner when its server stops; the server itself has no more time. */
const DRAIN_SECS = '3';

/** Such as `PGPASSWORD`, which complete `DATABASE_URL`. */
const LIBPQ_VARIABLE = /^PG[A-Z]+$/;

/** What servers know and runners do not: the database, the queues, keys, and passwords of the mail server. */
const WITHHELD = Object.fromEntries(
  [
    ...Object.values({
      ...SETTING_GROUPS['Connection pool'],
      ...SETTING_GROUPS.Secrets,
      ...SETTING_GROUPS['E-mail'],
    }),
    SETTINGS.databaseUrl,
    SETTINGS.queueUrl,
    SETTINGS.webhookSecrets,
  ]
    .flatMap(({ name, aliases }) => [name, ...aliases])
    .concat('HEDDLE_URL', 'HEDDLE_TOKEN')
    .concat(Object.keys(process.env).filter((name) => LIBPQ_VARIABLE.test(name)))
    .map((name) => [name, undefined]),
);

/** @throws ConfigurationError if the provider cannot be opened with these settings */
export async function openProvider(options: ProviderOptions): Promise<RunnerProvider> {
  switch (options.settings.runnerProvider) {
    case 'process':
      return openProcesses(options);
    case 'ec2':
      return openEc2Provider(ec2SettingsOf(options.settings)).catch((error: unknown) => {
        throw new ConfigurationError([`HEDDLE_POOL_PROVIDER: cannot use ec2: ${messageOf(error)}`]);
      });
    case 'none':
      return NO_PROVIDER;
  }
}

function openProcesses(options: ProviderOptions): ProcessProvider {
  const { settings, url, credentialOf, runnerVariables, clock, log, onEnded } = options;
  const { directory, name } = runnersHome(settings.dataDir, hostname());
  return new ProcessProvider({
    name,
    directory,
    command: [process.execPath, MAIN, 'worker', '--json'],
    environment: childEnvironment({
      ...runnerVariables,
      ...WITHHELD,
      HEDDLE_DATA_DIR: settings.dataDir,
      HEDDLE_WORKER_DRAIN_SECS: DRAIN_SECS,
    }),
    workingDirectory: process.cwd(),
    url,
    credentialOf,
    clock,
    log,
    onEnded,
  });
}

/** Launches nothing; other servers may launch runners. */
const NO_PROVIDER: RunnerProvider = {
  name: 'none',
  launch: () =>
    Promise.reject(new LaunchFailure('refused', 'this server does not launch runners (HEDDLE_POOL_PROVIDER is none)')),
  terminate: () => Promise.resolve(),
  async *list() {
    // It has no instances.
  },
  refresh: () => Promise.resolve([]),
  close: () => Promise.resolve(),
};
