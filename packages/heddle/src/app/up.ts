import { systemClock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { migrate } from '@heddle/core/store/migrate';
import { warnUnknownVariables, type Configuration } from './config.ts';
import { migrationUrlOf, openSmall, requireReachable } from './database-access.ts';
import { startEmbedded } from './embedded.ts';
import { waitForExample, startExample } from './example.ts';
import { EXIT, type ExitCode } from '@heddle/base/terminal/failure';
import { freePort } from './listener.ts';
import { VERSION } from './package.ts';
import { LogFile } from './log-file.ts';
import { filedLog } from './process-log.ts';
import type { ProcessOptions } from './server.ts';
import { provideSecretKeys } from './secret-keys.ts';
import type { SettingValues } from './settings.ts';
import { aborted, untilInterrupted } from '@heddle/base/terminal/signals';
import { StopSequence } from './stop-sequence.ts';
import { startSystem, type System } from './wiring.ts';

/** A workflow and how to reach it, for showing its progress. */
export interface ShownWorkflow {
  apiUrl: string;
  token: string | undefined;
  workflowId: string;
  signal: AbortSignal;
}

/** Logs slower queries: higher than elsewhere, since one machine does everything at once. */
const SLOW_QUERY_MS = 1_000;

export interface UpOptions extends ProcessOptions {
  /** Logs to the terminal too, not only to the file. */
  verbose: boolean;
  /** Shows the progress of the example until it ends or the signal aborts. */
  show: (workflow: ShownWorkflow) => Promise<void>;
}

/** What the parts of one start share. */
interface Start extends UpOptions {
  settings: SettingValues;
  logFile: string;
  log: Logger;
  stopping: StopSequence;
  stop: AbortSignal;
}

/**
 * `heddle up`: runs everything on one machine until it is interrupted: the embedded database (unless DATABASE_URL names
 * another), its migrations, the server, and the example at the first start.
 */
export async function runUp(options: UpOptions): Promise<ExitCode> {
  const { configuration, onEvent, logSink, verbose } = options;
  const settings = settingsOf(configuration);
  const file = await LogFile.open(settings.dataDir);
  const log = filedLog(settings, { file, ...(logSink === undefined ? {} : { terminal: logSink }), verbose });
  warnUnknownVariables(configuration, log);
  return untilInterrupted(
    async (stop) => {
      const stopping = new StopSequence(systemClock, log);
      try {
        await runUntil({ ...options, settings, logFile: file.path, log, stopping, stop });
      } catch (error) {
        if (error !== stop.reason) throw error;
      } finally {
        if (stop.aborted) onEvent({ event: 'stopping' });
        await stopping.stop();
      }
      onEvent({ event: 'stopped' });
      return EXIT.ok;
    },
    () => onEvent({ event: 'forced' }),
  );
}

function settingsOf({ values, effective }: Configuration): SettingValues {
  const chosen = effective.some(({ key, source }) => key === 'slowQueryThresholdMs' && source !== 'default');
  return chosen ? values : { ...values, slowQueryThresholdMs: SLOW_QUERY_MS };
}

async function runUntil(start: Start): Promise<void> {
  const { settings, configuration, onEvent, stop, log, logFile, stopping } = start;
  const dataDir = settings.databaseUrl === null ? settings.dataDir : null;
  onEvent({ event: 'starting', version: VERSION, data_dir: dataDir, log_file: logFile });
  // Checked first, so that the database is not started needlessly.
  await freePort(settings);
  const databaseUrl = await provideDatabase(start);
  stop.throwIfAborted();
  await migrate({ url: migrationUrlOf(settings, databaseUrl), log });
  stop.throwIfAborted();
  if (dataDir !== null) await provideSecretKeys(settings);
  const base = { clock: systemClock, random: systemRandom, log, stopping, flags: configuration.flags };
  const system = await startSystem({ ...base, settings, databaseUrl, development: true });
  onEvent({
    event: 'ready',
    url: system.url,
    page: `${system.url}/`,
    host_url: system.hostUrl,
    port: system.port,
    pid: process.pid,
    data_dir: dataDir,
    tokens_required: system.tokensRequired,
  });
  if (settings.examples) await runExample(start, system);
  await aborted(stop);
}

async function provideDatabase({ settings, log, stopping }: Start): Promise<string> {
  if (settings.databaseUrl === null) {
    const server = await startEmbedded(settings, systemClock, log);
    stopping.add('the embedded database', () => server.stop());
    return server.url;
  }
  const database = openSmall(settings.databaseUrl, log);
  await requireReachable(database, settings.databaseUrl).finally(() => database.close());
  return settings.databaseUrl;
}

/** Runs the example beside the rest: its failure does not stop the system. */
async function runExample(start: Start, system: System): Promise<void> {
  const { log, stopping, stop, onEvent, show, settings } = start;
  const embedded = settings.databaseUrl === null;
  const options = { system, settings, embedded, clock: systemClock, random: systemRandom, log, stopping };
  try {
    const example = await startExample(options, stop);
    if (example === null || example.workflowId === null) return;
    const { workflowId, token } = example;
    onEvent({ event: 'example', workflow_id: workflowId, page: `${system.url}/runs/${workflowId}` });
    const shown = show({ apiUrl: system.url, token, workflowId, signal: stop });
    const ended = waitForExample(options, workflowId, stop);
    await Promise.all([shown.catch(warn(log, 'could not show the progress of the example')), ended]);
    if (stop.aborted) return;
    const report = await example.report();
    onEvent({ event: 'example_ended', workflow_id: workflowId, report });
  } catch (error) {
    if (!stop.aborted) warn(log, 'could not run the example')(error);
  }
}

function warn(log: Logger, message: string): (error: unknown) => void {
  return (error) => log.warn({ err: error }, message);
}
