import { spawn } from 'node:child_process';
import { closeSync, existsSync } from 'node:fs';

import { messageOf } from '@heddle/base/thrown';
import { mismatchOf } from '../../../domain/runner/classify.ts';
import { LOSS_REASONS } from '../../../domain/runner/end-reasons.ts';
import type { RunnerType } from '../../../domain/runner/runner.ts';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { signalProcess } from '../../../store/embedded/processes.ts';
import {
  LaunchFailure,
  type LaunchBatch,
  type LaunchedRunner,
  type LaunchResult,
  type ProviderInstance,
  type RunnerProvider,
} from '../../port/provider.ts';
import { isAlive, markOf, RunnerRecords, type ProcessMark } from './records.ts';
import { announceServer } from './servers.ts';

export interface ProcessProviderOptions {
  /** Name in the store; unique per machine and directory. */
  readonly name: string;
  /** Parent of the directories of the runners. */
  readonly directory: string;
  /** Command of a runner, to which its ID and directory are appended. */
  readonly command: readonly [string, ...string[]];
  readonly environment: NodeJS.ProcessEnv;
  readonly workingDirectory: string;
  /** URL of this server for its runners. */
  readonly url: string;
  /** Returns the credential of a runner, which it gets on its standard input, where no other process can read it. */
  credentialOf(runnerId: string): Promise<string>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called once for each process that ended without being asked to. */
  readonly onEnded?: (runnerId: string, reason: string) => void;
}

/** A process that has not claimed its directory after this time counts as gone. */
const START_MS = 60_000;
/** Time from SIGTERM to SIGKILL. */
const GRACE_MS = 6_000;
/** Retention of the directories of ended runners: time and number. */
const KEEP_MS = 3_600_000;
const KEEP_MAX = 200;
const PAGE = 100;
const TAIL_BYTES = 400;
/** A process that exits with an error within this time counts as a failed start. */
const EARLY_MS = 30_000;
/** Consecutive failed starts after which launches are held back. */
const FAILED_STARTS_MAX = 3;
const FAILED_STARTS_WAIT_MS = 10_000;
const GONE_POLL_MS = 50;

/** Runs each runner as a process on this machine. */
export class ProcessProvider implements RunnerProvider {
  readonly name: string;
  readonly #options: ProcessProviderOptions;
  readonly #records: RunnerRecords;
  readonly #server: ProcessMark | null;
  #withdraw: (() => void) | null = null;
  /** Runners whose processes this one started and has not seen exit. */
  readonly #children = new Set<string>();
  #closed = false;
  /** Consecutive failed starts. */
  #failedStarts = { count: 0, at: 0, why: '' };

  constructor(options: ProcessProviderOptions) {
    this.name = options.name;
    this.#options = options;
    this.#records = new RunnerRecords(options.directory);
    this.#server = markOf(process.pid);
    // Runners of an earlier server may be looking for this one.
    if (existsSync(options.directory)) this.#announce();
  }

  #announce(): void {
    const { directory, url, log } = this.#options;
    try {
      this.#withdraw ??= announceServer(directory, url);
    } catch (error) {
      log.warn({ err: error, directory }, 'runners cannot find this server: could not write its address');
    }
  }

  async launch(batch: LaunchBatch): Promise<LaunchResult> {
    const credentials = await Promise.all(batch.runner_ids.map((id) => this.#options.credentialOf(id)));
    if (this.#closed) throw new LaunchFailure('throttled', 'this server is stopping');
    this.#requireStarts();
    const type = typeOf(batch);
    const mismatch = mismatchOf(type, batch.requirements);
    if (mismatch !== null) {
      const fault = `a process on this machine is of type ${type.instance_type} with ${type.cpu} processors`;
      throw new LaunchFailure('refused', `${fault}, and ${mismatch}`);
    }
    const launched: LaunchedRunner[] = [];
    let missing: string | null = null;
    this.#announce();
    for (const [index, id] of batch.runner_ids.entries()) {
      missing = this.#start(id, batch.id, credentials[index]!);
      if (missing !== null) break;
      const { instance_type, cpu, memory_mib } = type;
      launched.push({ runner_id: id, provider_id: id, instance_type, cpu, memory_mib });
    }
    if (launched.length === 0 && missing !== null) throw new LaunchFailure('capacity', missing);
    return { launched, missing };
  }

  /** Holds back launches after repeated failed starts. */
  #requireStarts(): void {
    const { count, at, why } = this.#failedStarts;
    if (count < FAILED_STARTS_MAX || this.#options.clock.now() - at > FAILED_STARTS_WAIT_MS) return;
    throw new LaunchFailure('capacity', `the last ${count} runners failed to start: ${why}`);
  }

  /** Starts the process of a runner unless that was done before; returns the error, or null. */
  #start(runnerId: string, batchId: string, credential: string): string | null {
    const records = this.#records;
    try {
      const launched_at = this.#options.clock.now();
      const record = { runner_id: runnerId, batch_id: batchId, provider: this.name, launched_at, server: this.#server };
      records.create(record);
      // The runner was launched before; its current state does not matter.
      if (records.processOf(runnerId) !== null || records.endOf(runnerId) !== null) return null;
      this.#spawn(runnerId, credential);
      return null;
    } catch (error) {
      const reason = `could not start the process: ${messageOf(error)}`;
      this.#markFailed(runnerId, reason);
      return reason;
    }
  }

  #markFailed(runnerId: string, reason: string): void {
    try {
      this.#records.markEnd(runnerId, { at: this.#options.clock.now(), reason });
    } catch (error) {
      // If the mark cannot be written, the process was not started either.
      this.#options.log.warn({ err: error, runner_id: runnerId }, 'could not record the end of a runner');
    }
  }

  #spawn(runnerId: string, credential: string): void {
    const { command, environment, workingDirectory, log } = this.#options;
    const [program, ...args] = command;
    const output = this.#records.openLog(runnerId);
    const startedAt = this.#options.clock.now();
    try {
      const own = ['--runner', runnerId, '--runner-home', this.#records.homeOf(runnerId)];
      const child = spawn(program, [...args, ...own], {
        cwd: workingDirectory,
        env: environment,
        // A separate session: Ctrl-C in the terminal reaches only the server, which then stops its runners in order.
        detached: true,
        stdio: ['pipe', output, output],
      });
      child.unref();
      // A process that could not be started, or has ended, reads nothing.
      child.stdin?.on('error', () => undefined).end(credential);
      this.#children.add(runnerId);
      const ended = (cause: string): void => {
        this.#children.delete(runnerId);
        this.#handleExit(runnerId, cause);
      };
      child.on('error', (error) => ended(`start failed: ${error.message}`));
      child.on('exit', (code, signal) => {
        this.#countFailedStart(runnerId, code, startedAt);
        ended(signal === null ? `exit code ${code ?? 0}` : `signal ${signal}`);
      });
      log.info({ runner_id: runnerId, pid: child.pid }, 'runner started');
    } finally {
      closeSync(output);
    }
  }

  #countFailedStart(runnerId: string, code: number | null, startedAt: number): void {
    const now = this.#options.clock.now();
    const failed = code !== null && code !== 0 && now - startedAt < EARLY_MS;
    if (!failed) this.#failedStarts = { count: 0, at: 0, why: '' };
    else {
      const why = `exit code ${code}: ${this.#records.tail(runnerId, TAIL_BYTES)}`;
      this.#failedStarts = { count: this.#failedStarts.count + 1, at: now, why };
    }
  }

  #handleExit(runnerId: string, cause: string): void {
    const records = this.#records;
    const mark = records.processOf(runnerId);
    // Another process is this runner; the one that ended lost the race for the directory.
    if (mark !== null && isAlive(mark)) return;
    if (records.endOf(runnerId) !== null || records.read(runnerId) === null) return;
    this.#recordLoss(runnerId, cause);
  }

  #recordLoss(runnerId: string, cause: string): void {
    const { clock, log, onEnded } = this.#options;
    const reason = `${LOSS_REASONS.process_ended} (${cause})`;
    this.#records.markEnd(runnerId, { at: clock.now(), reason });
    const output = this.#records.tail(runnerId, TAIL_BYTES);
    log.warn({ runner_id: runnerId, output }, `runner lost: ${reason}`);
    onEnded?.(runnerId, reason);
  }

  /**
   * Checks every process, including those started by an earlier server. Reports unexpected ends to `onEnded`, and kills
   * processes that do not stop in time.
   */
  watch(): void {
    const { clock } = this.#options;
    const ended: { id: string; at: number }[] = [];
    for (const id of this.#records.ids()) {
      const state = this.#stateOf(id);
      if (state === 'gone' && this.#records.endOf(id) === null) this.#recordLoss(id, 'exit status unknown');
      const end = this.#records.endOf(id);
      if (end === null) continue;
      if (state === 'stopping' && clock.now() - end.at > GRACE_MS) this.#signal(id, 'SIGKILL');
      if (state === 'gone') ended.push({ id, at: end.at });
    }
    ended.sort((one, other) => other.at - one.at);
    for (const [at, each] of ended.entries())
      if (at >= KEEP_MAX || clock.now() - each.at > KEEP_MS) this.#records.remove(each.id);
  }

  terminate(providerIds: readonly string[]): Promise<void> {
    for (const id of providerIds) this.#end(id, 'terminated by the pool');
    return Promise.resolve();
  }

  #end(runnerId: string, reason: string): void {
    const at = this.#options.clock.now();
    this.#records.markEnd(runnerId, { at, reason });
    const markedAt = this.#records.endOf(runnerId)?.at ?? at;
    this.#signal(runnerId, at - markedAt > GRACE_MS ? 'SIGKILL' : 'SIGTERM');
  }

  #signal(runnerId: string, signal: NodeJS.Signals): void {
    const mark = this.#records.processOf(runnerId);
    if (mark !== null && isAlive(mark)) signalProcess(mark.pid, signal);
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- other providers fetch their pages
  async *list(): AsyncGenerator<readonly ProviderInstance[]> {
    // Another data directory may lead here under another name; its runners belong to another provider.
    const ids = this.#records.ids().filter((id) => (this.#records.read(id)?.provider ?? this.name) === this.name);
    for (let at = 0; at < ids.length; at += PAGE) yield ids.slice(at, at + PAGE).map((id) => this.#instanceOf(id));
  }

  #instanceOf(id: string): ProviderInstance {
    const record = this.#records.read(id);
    const launched_at = record?.launched_at ?? Math.round(this.#records.changedAt(id));
    return {
      provider_id: id,
      runner_id: id,
      batch_id: record?.batch_id ?? null,
      state: this.#stateOf(id),
      launched_at,
    };
  }

  #stateOf(id: string): ProviderInstance['state'] {
    const end = this.#records.endOf(id);
    const mark = this.#records.processOf(id);
    if (mark !== null) {
      // How a child ended is known by its exit event, which is still to come.
      if (!isAlive(mark)) return end === null && this.#children.has(id) ? 'running' : 'gone';
      return end === null ? 'running' : 'stopping';
    }
    // A process that starts now finds the mark and exits.
    if (end !== null) return 'gone';
    const age = this.#options.clock.now() - (this.#records.read(id)?.launched_at ?? this.#records.changedAt(id));
    return age < START_MS ? 'pending' : 'gone';
  }

  refresh(): Promise<string[]> {
    return Promise.resolve([]);
  }

  /**
   * Ends the runners of this server and those whose server is gone, but not those of other servers on this machine.
   * Resolves when their processes have ended.
   */
  async close(): Promise<void> {
    this.#closed = true;
    const { clock } = this.#options;
    const own = this.own();
    for (const id of own) this.#end(id, 'its server stopped');
    const deadline = clock.monotonic() + GRACE_MS;
    const alive = (): string[] => own.filter((id) => this.#stateOf(id) === 'stopping');
    while (alive().length > 0 && clock.monotonic() < deadline) await clock.sleep(GONE_POLL_MS);
    for (const id of alive()) this.#signal(id, 'SIGKILL');
    this.#withdraw?.();
  }

  /** Returns the live runners of this server, and those whose server is gone. */
  own(): string[] {
    return this.#records.ids().filter((id) => {
      if (this.#stateOf(id) === 'gone') return false;
      const server = this.#records.read(id)?.server ?? null;
      return server === null || server.pid === process.pid || !isAlive(server);
    });
  }
}

function typeOf({ requirements, cpu, memory_mib }: LaunchBatch): RunnerType {
  const { resource_class, usage_class } = requirements;
  return { resource_class, usage_class, instance_type: `local.${resource_class}`, cpu, memory_mib };
}
