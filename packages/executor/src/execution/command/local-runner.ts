import { join } from 'node:path';
import type { Readable } from 'node:stream';

import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import type { ControlGroup, ControlGroups } from '../control-groups.ts';
import type { Slot, Slots } from '../slots.ts';
import type { Ended, StartedProcess, Starter } from '../starter/starter.ts';
import { descendantsOf, leftOf, MARKER, nameOf, send, sweepProcesses } from '../sweep.ts';
import { type CommandLimits, environmentOf, homeOf, jailCommandLine, plainCommandLine } from './command-line.ts';
import { removeLeftovers } from './leftovers.ts';
import type { Command, CommandEnd, CommandHost, CommandRunner, OutputStream } from './port.ts';
import { readOutput } from './read-output.ts';
import { WorkDirectory } from './work-directory.ts';

/** Time for streams to close after the end, from the last output on, and in all. */
const STREAMS_CLOSE_MS = 1_000;
const STREAMS_CLOSE_MS_MAX = 10_000;

export interface LocalRunnerOptions {
  readonly tier: 'jail' | 'process';
  readonly limits: CommandLimits;
  /** That a command may use, if there are groups; null: all. */
  readonly processors: number | null;
  /** Bytes that a working directory may take. */
  readonly diskBytes: number;
  /** Time between two measurements of a working directory. */
  readonly diskIntervalMs: number;
  /** Time between SIGTERM and SIGKILL. */
  readonly graceMs: number;
  readonly environment: Readonly<Record<string, string>>;
  /** Parent of the working directories. */
  readonly directory: string;
  readonly starter: Starter;
  readonly slots: Slots;
  readonly groups: ControlGroups | null;
  readonly clock: Clock;
  readonly log: Logger;
  readonly release: () => Promise<void>;
}

/** Runs commands as processes of this machine: plain ones, or in a jail. */
export class LocalRunner implements CommandRunner {
  readonly tier: 'jail' | 'process';
  readonly #options: LocalRunnerOptions;
  #started = 0;

  constructor(options: LocalRunnerOptions) {
    this.tier = options.tier;
    this.#options = options;
  }

  async run(command: Command, host: CommandHost): Promise<CommandEnd> {
    const { slots, directory, groups, processors } = this.#options;
    using slot = slots.take();
    this.#started += 1;
    const marker = `${process.pid}-command-${this.#started}`;
    const work = await WorkDirectory.make(
      join(directory, String(this.#started)),
      slot.user,
      command.files,
      this.#options.diskBytes,
    );
    let group: ControlGroup | null = null;
    try {
      group = groups?.make(slot.index, command.memoryMb, processors) ?? null;
      const run = new LocalRun({ ...this.#options, command, host, slot, work, group, marker });
      const ended = await run.end();
      await host.onEnd?.(work.path);
      return { ...ended, result: await work.readResult() };
    } finally {
      await this.#clear(work, group, slot);
    }
  }

  async #clear(work: WorkDirectory, group: ControlGroup | null, { user }: Slot): Promise<void> {
    const steps = [
      () => group?.remove(),
      () => work.remove(),
      // A jail has temporary directories and memory of its own.
      () => (this.tier === 'process' && user !== null ? removeLeftovers(user) : undefined),
    ];
    for (const step of steps) {
      try {
        await step();
      } catch (error) {
        this.#options.log.error({ err: error }, 'could not clean up after a command');
      }
    }
  }

  close(): Promise<void> {
    return this.#options.release();
  }
}

interface LocalRunOptions extends LocalRunnerOptions {
  readonly command: Command;
  readonly host: CommandHost;
  readonly slot: Slot;
  readonly work: WorkDirectory;
  readonly group: ControlGroup | null;
  readonly marker: string;
}

/** One run of a command, from the start of its first process to the end of its last. */
class LocalRun {
  readonly #options: LocalRunOptions;
  #stopped = false;
  #outOfDisk = false;

  constructor(options: LocalRunOptions) {
    this.#options = options;
  }

  async end(): Promise<Omit<CommandEnd, 'result'>> {
    const { host, group, slot, marker, work, clock } = this.#options;
    host.signal.throwIfAborted();
    const started = await this.#start();
    const output = this.#read(started);
    const stop = (): void => void this.#stop(started);
    host.signal.addEventListener('abort', stop, { once: true });
    const watch = new AbortController();
    const processes = (): readonly number[] => this.#processes(started);
    const watched = work.watch({ ...this.#options, processes }, watch.signal, () => {
      this.#outOfDisk = true;
      this.#kill(started);
    });
    let ended: Ended;
    try {
      await this.#admit(started);
      if (host.signal.aborted) stop();
      ended = await started.exited;
    } finally {
      host.signal.removeEventListener('abort', stop);
      watch.abort();
      group?.kill();
      started.kill();
      await sweepProcesses(() => leftOf(slot, marker, group), clock);
      await watched;
      await output;
    }
    return {
      exitCode: ended.exitCode,
      signal: ended.exitCode === null ? (ended.signal ?? 'SIGKILL') : null,
      stopped: this.#stopped,
      outOfMemory: group?.wasOutOfMemory() ?? false,
      outOfDisk: this.#outOfDisk,
    };
  }

  #start(): Promise<StartedProcess> {
    const { tier, command, limits, slot, work, environment, marker, starter } = this.#options;
    const placement = { directory: work.path, user: slot.user };
    const line = tier === 'jail' ? jailCommandLine : plainCommandLine;
    const [program, ...args] = line(command, limits, placement);
    return starter.start({
      command: program!,
      args,
      environment: { ...environmentOf(command, environment, homeOf(tier, work.path)), [MARKER]: marker },
      directory: work.path,
      user: slot.user,
      streams: 4,
      files: [],
      behind: false,
    });
  }

  /** Lets the command begin, in its memory group. */
  async #admit({ pid, streams, exited }: StartedProcess): Promise<void> {
    const { group, command } = this.#options;
    // A process that is gone already cannot be admitted; its end says why.
    await Promise.race([group?.admit(pid), exited]).catch(() => undefined);
    streams[3]!.on('error', () => undefined).end('\n');
    streams[0]!.on('error', () => undefined).end(command.stdin);
  }

  /** Resolves when both streams have ended, or are abandoned because another process holds them. */
  async #read({ streams, exited }: StartedProcess): Promise<void> {
    const { host, clock } = this.#options;
    const [, stdout, stderr] = streams;
    let reads = 0;
    const read = (stream: OutputStream, from: Readable): Promise<void> => {
      const onChunk = (chunk: Buffer): void => {
        reads += 1;
        host.onOutput(stream, chunk);
      };
      return readOutput(
        from.on('error', () => undefined),
        onChunk,
        clock,
      );
    };
    const closed = Promise.all([read('stdout', stdout!), read('stderr', stderr!)]).then(() => true);
    await exited;
    const until = clock.monotonic() + STREAMS_CLOSE_MS_MAX;
    for (let before = -1; before !== reads && clock.monotonic() < until;) {
      before = reads;
      if (await Promise.race([closed, clock.sleep(STREAMS_CLOSE_MS).then(() => false)])) break;
    }
    for (const stream of streams) stream.destroy();
  }

  /** Returns its running processes: those of its user or its group, else those that did not detach themselves. */
  #processes({ pid }: StartedProcess): readonly number[] {
    const { slot, marker, group } = this.#options;
    if (group !== null) return group.processes();
    return slot.user === null ? [pid, ...descendantsOf(pid)] : leftOf(slot, marker, null);
  }

  /** Asks all processes to end, and kills them after the grace period. */
  async #stop(started: StartedProcess): Promise<void> {
    const { clock, graceMs } = this.#options;
    this.#stopped = true;
    // The processes of bubblewrap would take the rest with them at once.
    const asked = [started.pid, ...descendantsOf(started.pid)].filter((pid) => nameOf(pid) !== 'bwrap');
    for (const pid of asked) send(pid, 'SIGTERM');
    await Promise.race([started.exited, clock.sleep(graceMs)]);
    this.#kill(started);
  }

  #kill(started: StartedProcess): void {
    this.#options.group?.kill();
    // Parents first: a shell would report its killed child.
    for (const pid of [started.pid, ...descendantsOf(started.pid)]) send(pid, 'SIGKILL');
    started.kill();
  }
}
