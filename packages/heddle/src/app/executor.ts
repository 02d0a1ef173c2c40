import { systemClock } from '@heddle/base/clock';
import { warnUnknownVariables, type Configuration } from './config.ts';
import { EXIT, type ExitCode } from '@heddle/base/terminal/failure';
import { processLog, type LogSink } from './process-log.ts';
import type { ExecutorEvent } from './remote/executor-events.ts';
import { requireExecutorSettings } from './remote/executor-settings-check.ts';
import { openExecutor, type Executor } from './remote/open-executor.ts';
import type { SettingValues } from './settings.ts';
import { aborted, untilInterrupted } from '@heddle/base/terminal/signals';
import { StopSequence } from './stop-sequence.ts';
import { surviveStrayRejections } from './stray-rejections.ts';

export interface ExecutorOptions {
  configuration: Configuration;
  onEvent: (event: ExecutorEvent) => void;
  /** Receives the log; standard error by default. */
  logSink?: LogSink;
}

/** `heddle executor`: accepts signed tasks and runs them in a sandbox until it is interrupted. Needs no database. */
export async function runExecutor({ configuration, onEvent, logSink }: ExecutorOptions): Promise<ExitCode> {
  const { values: settings } = configuration;
  requireExecutorSettings(settings);
  const log = processLog(settings, logSink);
  warnUnknownVariables(configuration, log);
  return untilInterrupted(
    async (stop) => {
      const stopping = new StopSequence(systemClock, log);
      surviveStrayRejections(log, stopping);
      try {
        const executor = await openUnlessStopped({ settings, log, stopping }, stop);
        if (executor !== null) {
          onEvent(readyEvent(executor, settings));
          log.info({ listeners: executor.addresses, tier: executor.tiers.own.tier }, 'executor is ready');
          await aborted(stop);
          const { busy, queue_depth } = executor.manager.health();
          onEvent({ event: 'stopping', running: busy, waiting: queue_depth });
          await executor.manager.drain(settings.executorDrainSecs * 1000);
        }
      } finally {
        await stopping.stop();
      }
      onEvent({ event: 'stopped' });
      return EXIT.ok;
    },
    () => onEvent({ event: 'forced' }),
  );
}

function readyEvent(
  { registry, tiers, addresses: listeners, dataDirectory: data_dir }: Executor,
  { executorWorkerCount: workers, executorAllowedEvents: allowed_events }: SettingValues,
): ExecutorEvent {
  const { tier } = tiers.own;
  const events = registry.names();
  return { event: 'ready', pid: process.pid, listeners, tier, workers, events, allowed_events, data_dir };
}

/**
 * Returns null if the start was interrupted: Ctrl-C in a terminal also reaches the child processes of a start, so their
 * failures are no fault then.
 */
async function openUnlessStopped(
  start: Parameters<typeof openExecutor>[0],
  stop: AbortSignal,
): Promise<Executor | null> {
  try {
    return await openExecutor(start);
  } catch (error) {
    if (!stop.aborted) throw error;
    start.log.debug({ err: error }, 'start interrupted');
    return null;
  }
}
