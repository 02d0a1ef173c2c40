import type { Logger } from '@heddle/base/log';
import { systemClock } from '@heddle/base/clock';
import { isLoopbackHost } from '@heddle/base/net/classify';
import { systemRandom } from '@heddle/base/random';
import { migrate } from '@heddle/core/store/migrate';
import { warnUnknownVariables, type Configuration } from './config.ts';
import { migrationUrlOf, openSmall, requireReachable } from './database-access.ts';
import { ConfigurationError, EXIT, type ExitCode } from '@heddle/base/terminal/failure';
import { freePort } from './listener.ts';
import { processLog, type LogSink } from './process-log.ts';
import type { SettingValues } from './settings.ts';
import { aborted, untilInterrupted } from '@heddle/base/terminal/signals';
import { StopSequence } from './stop-sequence.ts';
import { startSystem } from './wiring.ts';

/** Lifecycle events of a process, for the terminal and for scripts. */
export type LifeEvent =
  | { event: 'starting'; version: string; data_dir: string | null; log_file: string }
  | {
      event: 'ready';
      url: string;
      page: string;
      host_url: string;
      port: number;
      pid: number;
      data_dir: string | null;
      tokens_required: boolean;
    }
  | { event: 'example'; workflow_id: string; page: string }
  | { event: 'example_ended'; workflow_id: string; report: string | null }
  | { event: 'stopping' }
  | { event: 'stopped' }
  | { event: 'forced' };

export interface ProcessOptions {
  configuration: Configuration;
  onEvent: (event: LifeEvent) => void;
  /** Receives the log; standard error by default. */
  logSink?: LogSink;
}

/**
 * `heddle server`: runs Heddle on an existing database until it is interrupted. Any number of servers share the work.
 */
export async function runServer({ configuration, onEvent, logSink }: ProcessOptions): Promise<ExitCode> {
  const { values: settings } = configuration;
  const databaseUrl = requireServerSettings(settings);
  const log = processLog(settings, logSink);
  warnUnknownVariables(configuration, log);
  return untilInterrupted(
    async (stop) => {
      const stopping = new StopSequence(systemClock, log);
      try {
        await freePort(settings);
        await prepareDatabase(settings, databaseUrl, log);
        const base = { clock: systemClock, random: systemRandom, log, stopping, flags: configuration.flags };
        const system = await startSystem({ ...base, settings, databaseUrl, development: false });
        const { url, hostUrl: host_url, port, tokensRequired: tokens_required } = system;
        log.info({ url, host_url, tokens_required }, `listening at ${url}`);
        const page = `${host_url}/`;
        onEvent({ event: 'ready', url, page, host_url, port, pid: process.pid, data_dir: null, tokens_required });
        await aborted(stop);
        onEvent({ event: 'stopping' });
      } finally {
        await stopping.stop();
      }
      onEvent({ event: 'stopped' });
      return EXIT.ok;
    },
    () => onEvent({ event: 'forced' }),
  );
}

function requireServerSettings(settings: SettingValues): string {
  const faults: string[] = [];
  if (settings.databaseUrl === null) {
    faults.push('DATABASE_URL: is required by `heddle server`; `heddle up` has an embedded database');
  }
  if (settings.hostUrl === null && !isLoopbackHost(settings.host)) {
    faults.push(
      `HOST_URL: is required if the server listens beyond loopback (HOST=${settings.host}): ` +
        'set it to the public URL that webhook targets respond to, such as https://heddle.example.com',
    );
  }
  if (faults.length > 0) throw new ConfigurationError(faults);
  return settings.databaseUrl!;
}

async function prepareDatabase(settings: SettingValues, url: string, log: Logger): Promise<void> {
  const database = openSmall(url, log);
  try {
    await requireReachable(database, url);
  } finally {
    await database.close();
  }
  if (settings.migrateAtStart) await migrate({ url: migrationUrlOf(settings, url), log });
}
