import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';

import { LaunchFailure, type RunnerProvider } from '../../pool/port/provider.ts';
import { openEc2Provider } from '../../pool/providers/ec2/open.ts';
import { runnersHome } from '../../pool/providers/process/home.ts';
import { ProcessProvider } from '../../pool/providers/process/provider.ts';
import { childEnvironment } from '../../runtime/child-environment.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/log.ts';
import { ConfigurationError } from '../failure.ts';
import type { SettingValues } from '../settings.ts';
import { ec2SettingsOf } from './ec2.ts';

export interface ProviderOptions {
  settings: SettingValues;
  databaseUrl: string;
  /** Whether this is a `heddle up`. */
  development: boolean;
  /** What flags of the command line said, by variable: the environment of runners says it too. */
  flags: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  log: Logger;
  /** Told when a runner of this machine ended that nobody had asked to. */
  onEnded: (runnerId: string, reason: string) => void;
}

const MAIN = fileURLToPath(
  new URL(`../../cli/main${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url),
);
/** Time that what runs on a runner has to end when its server stops: the server itself has no more. */
const DRAIN_SECS = '3';

/** @throws ConfigurationError where it cannot be opened as the settings say */
export async function openProvider(options: ProviderOptions): Promise<RunnerProvider> {
  switch (options.settings.runnerProvider) {
    case 'process':
      return openProcesses(options);
    case 'ec2':
      return openEc2Provider(ec2SettingsOf(options.settings)).catch((error: unknown) => {
        throw new ConfigurationError([
          `HEDDLE_POOL_PROVIDER: ec2 cannot be used: ${error instanceof Error ? error.message : String(error)}`,
        ]);
      });
    case 'none':
      return NO_PROVIDER;
  }
}

export function openProcesses(options: ProviderOptions): ProcessProvider {
  const { settings, databaseUrl, development, flags, clock, log, onEnded } = options;
  const { directory, name } = runnersHome(settings.dataDir, hostname());
  return new ProcessProvider({
    name,
    directory,
    command: [process.execPath, MAIN, 'worker', '--json', ...(development ? ['--development'] : [])],
    environment: childEnvironment({
      ...flags,
      DATABASE_URL: databaseUrl,
      HEDDLE_DATA_DIR: settings.dataDir,
      HEDDLE_WORKER_DRAIN_SECS: DRAIN_SECS,
    }),
    workingDirectory: process.cwd(),
    clock,
    log,
    onEnded,
  });
}

/** Starts nothing: other servers do, or nobody. */
const NO_PROVIDER: RunnerProvider = {
  name: 'none',
  launch: () =>
    Promise.reject(new LaunchFailure('refused', 'this server launches no runners (HEDDLE_POOL_PROVIDER is none)')),
  terminate: () => Promise.resolve(),
  async *list() {
    // It runs nothing.
  },
  refresh: () => Promise.resolve([]),
  close: () => Promise.resolve(),
};
