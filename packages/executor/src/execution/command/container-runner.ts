import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { ContainerRemoval } from '../container-removal.ts';
import { removeTree } from '../directory-tree.ts';
import { engineCommand, engineOutput } from '../engine-command.ts';
import type { ContainerOptions } from '../options.ts';
import type { Slots } from '../slots.ts';
import { processesOf } from '../sweep.ts';
import type { CommandLimits } from './command-line.ts';
import { containerArguments, variablesOf } from './container-line.ts';
import type { Command, CommandEnd, CommandHost, CommandRunner } from './port.ts';
import { readOutput } from './read-output.ts';
import { WorkDirectory } from './work-directory.ts';

/** Exit code of an engine's client if the engine failed, not the command. */
const ENGINE_FAILED = 125;
const SIGNALED = 128;
const KILLED = 137;

export interface ContainerRunnerOptions {
  readonly container: Required<ContainerOptions>;
  /** Prefix of the names of containers. */
  readonly prefix: string;
  readonly limits: CommandLimits;
  /** Bytes that a working directory may take. */
  readonly diskBytes: number;
  readonly diskIntervalMs: number;
  /** Time between SIGTERM and SIGKILL. */
  readonly graceMs: number;
  /** Parent of the working directories. */
  readonly directory: string;
  readonly slots: Slots;
  readonly clock: Clock;
  readonly log: Logger;
  readonly release: () => Promise<void>;
}

/** Runs commands in containers, each in one of its own. */
export class ContainerRunner implements CommandRunner {
  readonly tier = 'container';
  readonly #options: ContainerRunnerOptions;
  readonly #removals = new Set<ContainerRemoval>();
  #started = 0;

  constructor(options: ContainerRunnerOptions) {
    this.#options = options;
  }

  async run(command: Command, host: CommandHost): Promise<CommandEnd> {
    const { slots, directory, diskBytes, prefix } = this.#options;
    const { image = null } = command;
    if (image === null) throw new Error('image: is required by the isolation `container`');
    using slot = slots.take();
    this.#started += 1;
    const name = `${prefix}${this.#started}`;
    const place = join(directory, String(this.#started));
    await mkdir(place, { mode: 0o711 });
    const removal = new ContainerRemoval(this.#options, name);
    this.#removals.add(removal);
    try {
      const work = await WorkDirectory.make(join(place, 'work'), slot.user, command.files, diskBytes);
      const variablesFile = join(place, 'variables');
      await writeFile(variablesFile, variablesOf(command), { mode: 0o600 });
      const { user } = slot;
      const plan = { ...this.#options, name, image, directory: work.path, variablesFile, user };
      const args = containerArguments(command, plan);
      const ended = await new ContainerRun({ ...this.#options, args, name, user, command, host, work, removal }).end();
      await host.onEnd?.(work.path);
      return { ...ended, result: await work.readResult() };
    } finally {
      await removal.begin();
      this.#removals.delete(removal);
      await removeTree(place).catch((error: unknown) => {
        this.#options.log.error({ err: error }, 'could not clean up after a command');
      });
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#removals].map((removal) => removal.begin()));
    await this.#options.release();
  }
}

interface ContainerRunOptions extends ContainerRunnerOptions {
  readonly args: readonly string[];
  readonly name: string;
  /** Exclusive user of its processes; null if it shares one. */
  readonly user: number | null;
  readonly command: Command;
  readonly host: CommandHost;
  readonly work: WorkDirectory;
  readonly removal: ContainerRemoval;
}

/** One run of a command in a container. */
class ContainerRun {
  readonly #options: ContainerRunOptions;
  #stopped = false;
  #outOfDisk = false;
  /** What the client said last, if the container could not be started. */
  #said = '';

  constructor(options: ContainerRunOptions) {
    this.#options = options;
  }

  async end(): Promise<Omit<CommandEnd, 'result'>> {
    const { host, args, name, container, command, work, removal, clock, user } = this.#options;
    host.signal.throwIfAborted();
    const client = engineCommand(container, args, 'pipe');
    const closed = this.#read(client);
    client.stdin!.on('error', () => undefined).end(command.stdin);
    const stop = (): void => void this.#stop(client);
    host.signal.addEventListener('abort', stop, { once: true });
    if (host.signal.aborted) stop();
    const watch = new AbortController();
    const processes = (): readonly number[] => (user === null ? [] : processesOf({ user, marker: '' }));
    const watched = work.watch({ ...this.#options, processes }, watch.signal, async () => {
      this.#outOfDisk = true;
      await engineOutput(container, ['kill', '--signal', 'KILL', name], clock);
    });
    try {
      await closed;
      return await this.#endOf(client);
    } finally {
      host.signal.removeEventListener('abort', stop);
      watch.abort();
      await watched;
      // With its container every process of the command is gone.
      await removal.begin();
    }
  }

  async #read(client: ChildProcess): Promise<void> {
    const { host, clock } = this.#options;
    const onError = (chunk: Buffer): void => {
      this.#said = (this.#said + chunk.toString()).slice(-1_000);
      host.onOutput('stderr', chunk);
    };
    void readOutput(client.stdout!, (chunk) => host.onOutput('stdout', chunk), clock);
    void readOutput(client.stderr!, onError, clock);
    await once(client, 'close').catch((error: unknown) => {
      throw new Error(`${this.#options.container.command} cannot be started`, { cause: error });
    });
  }

  /** @throws Error if the engine could not start a container */
  async #endOf(client: ChildProcess): Promise<Omit<CommandEnd, 'result'>> {
    const { container, clock, name, command } = this.#options;
    const wasOnItsOwn = !this.#stopped && !this.#outOfDisk;
    if (wasOnItsOwn && client.exitCode === ENGINE_FAILED) {
      const reason = this.#said.trim().split('\n').at(-1) ?? '';
      throw new Error(`no container of ${command.image!} could be started: ${reason}`);
    }
    const state = await engineOutput(container, ['inspect', '--format', '{{.State.OOMKilled}}', name], clock);
    const outOfMemory = state.ok && state.text.trim() === 'true';
    // The client reports a signal as an exit code above 128.
    const killed = !wasOnItsOwn && (client.exitCode ?? KILLED) > SIGNALED;
    const exitCode = killed || client.exitCode === null ? null : client.exitCode;
    const signal = exitCode === null ? 'SIGKILL' : null;
    return { exitCode, signal, stopped: this.#stopped, outOfMemory, outOfDisk: this.#outOfDisk };
  }

  /** Asks the command to end, and removes its container after the grace period. */
  async #stop(client: ChildProcess): Promise<void> {
    const { container, clock, graceMs, name, removal } = this.#options;
    this.#stopped = true;
    void engineOutput(container, ['kill', '--signal', 'TERM', name], clock);
    const closed = new Promise((resolve) => client.once('close', resolve));
    if (client.exitCode === null) await Promise.race([closed, clock.sleep(graceMs)]);
    // First, so that it cannot start a container that was removed before it existed.
    client.kill('SIGKILL');
    await removal.begin();
  }
}
