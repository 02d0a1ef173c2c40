import { spawn, type ChildProcess } from 'node:child_process';
import { open, readFile, rm, stat, rename } from 'node:fs/promises';

import type { Clock } from '@heddle/base/clock';
import { finishesWithin } from '@heddle/base/finishes-within';
import type { Logger } from '@heddle/base/log';
import { connect } from '../pool-connection.ts';
import type { Layout } from './cluster.ts';
import { EmbeddedPostgresError } from './failure.ts';
import { CHILD_ENVIRONMENT, isPostgresOf, orphanedBackends, processStart, runAs, signalProcess } from './processes.ts';
import { pidFile } from './watchdog.ts';

export interface LaunchOptions {
  layout: Layout;
  postgres: string;
  adminUrl: string;
  clock: Clock;
  log: Logger;
  onSpawn(pid: number): void;
  signal: AbortSignal;
}

/** Running server, a child process that accepts connections. */
export interface Postmaster {
  readonly pid: number;
  /** Resolves with a description when the process has ended. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

const POLL_MS = 20;
/** How long a start is retried while shared memory of a killed server is released. */
const RETRY_FOR_MS = 60_000;
const LOG_MAX_BYTES = 10 * 1024 * 1024;
const STOP_STEPS: { signal: NodeJS.Signals; waitMs: number }[] = [
  // Fast: sessions end, data is flushed.
  { signal: 'SIGINT', waitMs: 30_000 },
  // Immediate: recovery happens at the next start.
  { signal: 'SIGQUIT', waitMs: 5_000 },
  // Ends it as soon as pending disk operations have finished.
  { signal: 'SIGKILL', waitMs: 60_000 },
];

/** Errors of a start shortly after a server of the same directory was killed. */
const PASSING = /pre-existing shared memory block|lock file ".*" already exists|Address already in use|could not bind/;

/**
 * Starts the server and waits until it accepts connections, however long recovery takes. First stops a server that an
 * earlier Heddle left running on this directory.
 *
 * @throws EmbeddedPostgresError with the end of the server's log
 */
export async function launch(options: LaunchOptions): Promise<Postmaster> {
  const { clock, log, layout, signal } = options;
  const startedAt = clock.monotonic();
  for (let waitMs = 100; ; waitMs = Math.min(waitMs * 2, 1_000)) {
    const tried = await launchOnce(options);
    if (typeof tried === 'object') return tried;
    const elapsedMs = clock.monotonic() - startedAt;
    if (signal.aborted || elapsedMs > RETRY_FOR_MS || !PASSING.test(tried)) {
      throw new EmbeddedPostgresError(`PostgreSQL did not start: ${tried} (its log: ${layout.logFile})`);
    }
    log.warn({ reason: tried }, 'PostgreSQL could not start yet; retrying');
    // Idle sessions of a killed server end by themselves; a busy one would keep the memory for as long as it runs.
    // Their shared memory is lost with the server, so killing those that ignore the signal loses nothing.
    const signalName = elapsedMs > 3_000 ? 'SIGKILL' : 'SIGQUIT';
    if (elapsedMs > 500) for (const pid of orphanedBackends(layout.cluster)) signalProcess(pid, signalName);
    await clock.sleep(waitMs, signal);
  }
}

/** Running server, or why it ended. */
async function launchOnce(options: LaunchOptions): Promise<Postmaster | string> {
  const { layout, clock, log } = options;
  await clearPidFile(layout.cluster, clock, log);
  const logStart = await rotateLog(layout.logFile);
  const child = await spawnServer(options);
  const ended = exitOf(child);
  let isOver = false;
  void ended.then(() => (isOver = true));
  options.onSpawn(child.pid!);
  while (!isOver) {
    if (await accepts(options.adminUrl)) return { pid: child.pid!, ended, stop: () => stopChild(child, ended, clock) };
    if (options.signal.aborted) await stopChild(child, ended, clock);
    else await clock.sleep(POLL_MS, options.signal);
  }
  return `${await ended}: ${await logSince(layout.logFile, logStart)}`;
}

/** Stops the server that the pid file names, if it belongs to this directory; returns whether there was one. */
export async function stopOrphan(cluster: string, clock: Clock, log: Logger): Promise<boolean> {
  const pid = await readPid(cluster);
  if (pid === undefined) return false;
  // Read first: its watchdog may be stopping it already, so that it may end at any time.
  const start = processStart(pid);
  if (start === undefined || !isPostgresOf(pid, cluster)) return false;
  log.warn({ pid }, 'found a database server of a killed Heddle process; stopping it');
  for (const { signal, waitMs } of STOP_STEPS) {
    signalProcess(pid, signal);
    const deadline = clock.monotonic() + waitMs;
    while (clock.monotonic() < deadline) {
      if (processStart(pid) !== start) return true;
      await clock.sleep(POLL_MS);
    }
  }
  throw new EmbeddedPostgresError(`The database server with process number ${pid} cannot be stopped`);
}

async function clearPidFile(cluster: string, clock: Clock, log: Logger): Promise<void> {
  if (await stopOrphan(cluster, clock, log)) return;
  const pid = await readPid(cluster);
  // PostgreSQL removes the file of a dead server itself, but takes any live process with that number for a server.
  if (pid === undefined || processStart(pid) === undefined) return;
  log.warn({ pid }, 'the process number of a dead database server was reused; removing its pid file');
  await rm(pidFile(cluster), { force: true });
}

async function readPid(cluster: string): Promise<number | undefined> {
  const text = await readFile(pidFile(cluster), 'utf8').catch(() => '');
  const pid = Number.parseInt(text, 10);
  return pid > 1 ? pid : undefined;
}

async function spawnServer({ layout, postgres }: LaunchOptions): Promise<ChildProcess> {
  const output = await open(layout.logFile, 'a', 0o600);
  try {
    const child = spawn(postgres, ['-D', layout.cluster], {
      cwd: '/',
      env: CHILD_ENVIRONMENT,
      // Its own session, so that Ctrl-C in the terminal does not stop it before Heddle has finished its work.
      detached: true,
      stdio: ['ignore', output.fd, output.fd],
      ...runAs(layout.account),
    });
    child.unref();
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (error) =>
        reject(new EmbeddedPostgresError(`${postgres} cannot be run: ${error.message}`, error)),
      );
    });
    return child;
  } finally {
    await output.close();
  }
}

function exitOf(child: ChildProcess): Promise<string> {
  const describe = (code: number | null, signal: NodeJS.Signals | null): string =>
    signal === null ? `exit code ${String(code)}` : `killed by ${signal}`;
  // It may have ended before this handler was added, in which case the event does not fire again.
  const { exitCode, signalCode } = child;
  if (exitCode !== null || signalCode !== null) return Promise.resolve(describe(exitCode, signalCode));
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve(describe(code, signal)));
  });
}

async function stopChild(child: ChildProcess, ended: Promise<string>, clock: Clock): Promise<void> {
  child.ref();
  for (const { signal, waitMs } of STOP_STEPS) {
    if (child.exitCode !== null || child.signalCode !== null) break;
    child.kill(signal);
    await finishesWithin(clock, waitMs, ended);
  }
}

async function accepts(adminUrl: string): Promise<boolean> {
  try {
    const client = await connect({ url: adminUrl, connectTimeoutMs: 2_000, applicationName: 'heddle start' });
    await client.end();
    return true;
  } catch (error) {
    const { code } = (error as { cause?: { code?: string } }).cause ?? {};
    if (code !== '28P01') return false;
    throw new EmbeddedPostgresError('The database refuses the password in `secret`: restore that file', error);
  }
}

/** Rotates the log, keeping one old file; returns the size of the current one. */
async function rotateLog(file: string): Promise<number> {
  const size = (await stat(file).catch(() => undefined))?.size ?? 0;
  if (size < LOG_MAX_BYTES) return size;
  await rename(file, `${file}.1`);
  return 0;
}

async function logSince(file: string, start: number): Promise<string> {
  const text = (await readFile(file).catch(() => Buffer.alloc(0))).subarray(start).toString().trim();
  return text.slice(-2_000);
}
