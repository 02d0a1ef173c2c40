import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

import { END_REASONS, LOSS_REASONS } from '@heddle/core/domain/runner/end-reasons';
import { RunnerAgent } from '@heddle/core/pool/agent/agent';
import type { Registration } from '@heddle/core/pool/port/store';
import { InstanceMetadata, METADATA_URL } from '@heddle/core/pool/providers/ec2/instance-metadata';
import { becomeRunner, boundLog, logOf, type RunnerRecord } from '@heddle/core/pool/providers/process/records';
import { systemClock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';
import { systemRandom } from '@heddle/base/random';
import { warnUnknownVariables, type Configuration } from '../config.ts';
import { ConfigurationError, EXIT, type ExitCode } from '@heddle/base/terminal/failure';
import { processLog, type LogSink } from '../process-log.ts';
import { openTracing } from '../process-parts.ts';
import type { ServerAddress } from '../server-access.ts';
import type { SettingValues } from '../settings.ts';
import { untilInterrupted } from '@heddle/base/terminal/signals';
import { StopSequence } from '../stop-sequence.ts';
import { isolationLoop, MonitoredConnection } from './monitored-connection.ts';
import { LaunchingServer } from './launching-server.ts';
import { openAccess } from './runner-access.ts';
import { RunnerDuty } from './runner-duty.ts';

/** Lifecycle events of a runner process. */
export type RunnerEvent =
  | { event: 'ready'; runner: string; number: number; pid: number; kinds: readonly string[] }
  | { event: 'stopping' }
  | { event: 'stopped'; reason: string; settled: number }
  | { event: 'forced' };

export interface RunnerOptions {
  configuration: Configuration;
  /** ID of the runner; `ec2` to read it from the instance metadata. */
  runner: string;
  /** Directory with the record of the runner, for the process provider, which writes its credential to the input. */
  home: string | null;
  /** URL of a server and a token of the scope `runner`, for a runner on another machine. */
  server: ServerAddress | null;
  onEvent: (event: RunnerEvent) => void;
  logSink?: LogSink;
}

/** Dependencies of one start. */
interface Start extends RunnerOptions {
  server: ServerAddress;
  settings: SettingValues;
  record: RunnerRecord | null;
  launcher: LaunchingServer | null;
  log: Logger;
  stopping: StopSequence;
}

const LOG_BYTES_MAX = 4 * 1024 * 1024;
const LOG_CHECK_MS = 5_000;
const INTERRUPTION_CHECK_MS = 5_000;
/** How long an ended runner tries to hand back its task, which the pool requeues in any case. */
const HAND_BACK_MS = 5_000;
/** How long the final report of a runner may take. */
const EXIT_GRACE_MS = 3_000;
const RUNNER_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Runs `heddle worker --runner` until the pool or a signal ends it. */
export async function runRunner(options: RunnerOptions): Promise<ExitCode> {
  const { configuration, runner, home, onEvent, logSink } = options;
  const { values: settings } = configuration;
  if (runner !== 'ec2' && !RUNNER_ID.test(runner))
    throw new ConfigurationError([`--runner: must be a runner ID or ec2, not ${runner.slice(0, 60)}`]);
  const log = processLog(settings, logSink);
  const record = home === null ? null : becomeRunner(home, process.pid);
  if (home !== null && record === null) {
    log.info({ runner }, 'runner ended or superseded');
    return EXIT.ok;
  }
  const launcher =
    home === null || record === null
      ? null
      : new LaunchingServer({ home, record, credential: readFileSync(0, 'utf8'), publicUrl: settings.hostUrl });
  const server = launcher ?? options.server;
  if (server === null) {
    throw new ConfigurationError([
      '--url (HEDDLE_URL): a runner needs the URL of a server, and a token of the scope runner (HEDDLE_TOKEN)',
    ]);
  }
  warnUnknownVariables(configuration, log);
  return untilInterrupted(
    async (stop) => {
      const stopping = new StopSequence(systemClock, log);
      try {
        await serveUntil(stop, { ...options, server, launcher, settings, record, log, stopping });
      } finally {
        await stopping.stop();
      }
      return EXIT.ok;
    },
    () => onEvent({ event: 'forced' }),
  );
}

/** Resolves when the runner has ended, or was stopped and has reported that. */
async function serveUntil(stop: AbortSignal, start: Start): Promise<void> {
  const { settings, onEvent } = start;
  const ended = Promise.withResolvers<string>();
  const { agent, duty } = await startAgent(start, ended.resolve);
  const stopped = Promise.withResolvers<'stopped'>();
  stop.addEventListener('abort', () => stopped.resolve('stopped'), { once: true });
  if (stop.aborted) stopped.resolve('stopped');
  let reason = await Promise.race([ended.promise, stopped.promise]);
  if (stop.aborted) {
    onEvent({ event: 'stopping' });
    const drained = agent.drain(END_REASONS.stopped);
    await duty.stop(settings.workerDrainSecs * 1_000);
    const waited = new AbortController();
    const late = systemClock.sleep(EXIT_GRACE_MS, waited.signal).then(() => 'the runner was stopped');
    // A drained runner ends as soon as it is free.
    reason = await Promise.race([drained.then(() => ended.promise), late]);
    waited.abort();
  } else await Promise.race([duty.stop(0), systemClock.sleep(HAND_BACK_MS)]);
  onEvent({ event: 'stopped', reason, settled: duty.settled });
}

async function startAgent(
  start: Start,
  onEnded: (reason: string) => void,
): Promise<{ agent: RunnerAgent; duty: RunnerDuty }> {
  const { settings, record, log, stopping } = start;
  const tracing = await openTracing(settings, log);
  stopping.add('tracing', () => tracing.shutdown());
  const metadata = start.runner === 'ec2' ? openMetadata() : null;
  const registration = await registrationOf(start, metadata);
  const access = await openAccess({ ...start, holder: holderName(), tracing }, registration);
  const { times, kinds } = access;
  const duty = new RunnerDuty({
    ...access.tools,
    kinds,
    holder: holderName(),
    leaseMs: settings.workerLeaseSecs * 1_000,
    intervalMs: times.heartbeat_ms,
    clock: systemClock,
    random: systemRandom,
    log,
    tracing,
    onDone: (epoch) => void agent.finish(epoch),
    onFree: () => agent.wake(),
    onStuck: () => void endStuck(agent, onEnded),
  });
  const connection = new MonitoredConnection(access.connection, systemClock, (orders) => {
    const { runner_id, number } = orders;
    log.info({ runner: runner_id, number }, 'runner registered');
    const names = kinds.map(({ name }) => name);
    start.onEvent({ event: 'ready', runner: runner_id, number, pid: process.pid, kinds: names });
  });
  const agent = new RunnerAgent({
    connection,
    registration,
    clock: systemClock,
    log,
    heartbeat_ms: times.heartbeat_ms,
    exit_grace_ms: times.exit_grace_ms,
    isBusy: () => duty.isBusy,
    onClaimed: (orders) => duty.begin(orders),
    onRevoked: () => void duty.revoke(),
    onPeersLost: (epoch, lost) => duty.losePeers(epoch, lost),
    onEnd: onEnded,
  });
  stopping.add('the wakes of the runner', access.watchOrders(agent));
  agent.start();
  stopping.add('the agent', () => agent.stop());
  const alone = { connection, server: record?.server ?? null, aloneMs: times.disconnected_ms, onIsolated: onEnded };
  const loops = [
    isolationLoop({ ...alone, clock: systemClock, log }),
    ...(start.home === null ? [] : [logLoop(start.home, log)]),
    ...(metadata === null ? [] : [noticeLoop(metadata, agent, duty, log)]),
  ];
  for (const loop of loops) {
    loop.start();
    stopping.add(`the ${loop.name} loop`, () => loop.stop());
  }
  return { agent, duty };
}

function holderName(): string {
  return `${hostname()}/${process.pid}`;
}

/** Ends a runner with a handler that does not end, since its process must not be shared with another task. */
async function endStuck(agent: RunnerAgent, onEnded: (reason: string) => void): Promise<void> {
  await Promise.race([agent.drain(END_REASONS.stuck), systemClock.sleep(EXIT_GRACE_MS)]);
  onEnded(END_REASONS.stuck);
}

/** Uses the same endpoint as the AWS SDK. */
function openMetadata(): InstanceMetadata {
  const url = process.env['AWS_EC2_METADATA_SERVICE_ENDPOINT']?.replace(/\/+$/, '') ?? METADATA_URL;
  return new InstanceMetadata(url, () => systemClock.monotonic());
}

async function registrationOf(
  { runner, record }: Pick<Start, 'runner' | 'record'>,
  metadata: InstanceMetadata | null,
): Promise<Registration> {
  if (metadata !== null) return { runner_id: null, ...(await metadata.identity()) };
  return { runner_id: runner, batch_id: record?.batch_id ?? null, provider_id: runner, address: hostname() };
}

function logLoop(home: string, log: Logger): Loop {
  const runOnce = (): Promise<'idle'> => {
    boundLog(logOf(home), LOG_BYTES_MAX);
    return Promise.resolve('idle');
  };
  return new Loop({ name: 'runner log', intervalMs: LOG_CHECK_MS, clock: systemClock, log, runOnce });
}

/** Drains the runner of an interrupted machine and hands its task back at once. */
function noticeLoop(metadata: InstanceMetadata, agent: RunnerAgent, duty: RunnerDuty, log: Logger): Loop {
  let isInterrupted = false;
  const runOnce = async (): Promise<'idle'> => {
    const notice = isInterrupted ? null : await metadata.interruption();
    if (notice === null) return 'idle';
    isInterrupted = true;
    log.warn({ notice }, 'runner interrupted by the provider');
    await agent.drain(LOSS_REASONS.interrupted);
    await duty.stop(0);
    return 'idle';
  };
  return new Loop({ name: 'interruption', intervalMs: INTERRUPTION_CHECK_MS, clock: systemClock, log, runOnce });
}
