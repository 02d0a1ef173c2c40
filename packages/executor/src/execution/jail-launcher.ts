import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import type { ControlGroup } from './control-groups.ts';
import { childOf, onlyChildOf } from './child-processes.ts';
import type { Launcher, TaskProcess } from './launcher.ts';
import { librariesOf } from './libraries.ts';
import { PACKAGE_DIRECTORY, PACKAGE_INSTALLED } from './child/package-name.ts';
import { dataBytes, forkableNodeFlags, limitedBy, nodeFlags } from './limits.ts';
import type { EventCode } from './port.ts';
import { lowerPriority, restorePriority } from './priority.ts';
import { tierUnavailable } from './probe.ts';
import { releaseFailedStart, type LauncherParts } from './process-launcher.ts';
import { seccompProgram, zygoteSeccompProgram } from './seccomp/program.ts';
import type { Slot } from './slots.ts';
import { identityOf, moduleUrl, SANDBOX_BOOTSTRAP, SANDBOX_RUNTIME, SANDBOX_ZYGOTE } from './stage.ts';
import type { StartedProcess } from './starter/starter.ts';
import { WorkerProcess } from './worker-process.ts';
import { ZYGOTE_FILES, type ZygoteSettings } from './zygote/messages.ts';
import { Zygote } from './zygote/zygote.ts';
import { Zygotes } from './zygote/zygotes.ts';

/** Maximum threads of one task; it cannot create processes. */
const THREADS_MAX = 64;
/** Nothing outside the jail can hold its pipes open, so they close when it is empty. */
const PIPES_CLOSE_MS = 10_000;

/** Paths inside the jail. */
const NODE = '/usr/bin/node';
const EVENT = '/event';
/** Path at which event code finds this package without bringing a copy. */
/** Excludes `zero`: shared mappings of it use memory that no process limit counts. */
const DEVICES = ['null', 'random', 'urandom'] as const;
/** Inside the jail of a zygote. */
const NATIVE = '/native';
/** Memory that the process reserves itself, in addition to the baseline. */
const ZYGOTE_EXTRA_MB = 256;
/** One for each process that a zygote has forked. */
const ZYGOTE_OPEN_FILES = 1_024;
/** First descriptor after those of the channel. */
const SECCOMP_DESCRIPTOR = 4;

/** Files of system call filters: of tasks, and of the processes that fork them. */
interface Filters {
  readonly program: string;
  readonly zygoteProgram: string;
}

/** Starts processes in their own namespaces, with a system call filter, an empty root and no network. */
export class JailLauncher implements Launcher {
  readonly tier = 'jail';
  readonly #parts: LauncherParts;
  readonly #program: string;
  readonly #zygoteProgram: string;
  readonly #mounts: readonly string[];
  /** Null if processes are not forked. */
  readonly #zygotes: Zygotes | null;
  /** Directory of the native part of koffi; null if it is not installed. */
  readonly #native: string | null;

  private constructor(parts: LauncherParts, { program, zygoteProgram }: Filters, mounts: readonly string[]) {
    const { workers, spareIdleMs, clock, log, forks } = parts.settings;
    this.#parts = parts;
    this.#program = program;
    this.#zygoteProgram = zygoteProgram;
    this.#mounts = mounts;
    this.#native = forks ? nativeDirectory() : null;
    if (forks && this.#native === null) {
      log.warn(
        {},
        'the optional package koffi is not installed; starting each task process by itself, which is slower',
      );
    }
    this.#zygotes = this.#native === null ? null : new Zygotes(workers, spareIdleMs, clock, log);
  }

  /** @throws HeddleError VALIDATION_FAILED */
  static async make(parts: LauncherParts): Promise<JailLauncher> {
    const filter = seccompProgram(process.arch);
    if (filter === null) {
      throw tierUnavailable('jail', `its system call filter supports x64 and arm64, not ${process.arch}`);
    }
    const program = join(parts.stage.directory, 'seccomp.bpf');
    await writeFile(program, filter, { mode: 0o444 });
    const zygoteProgram = join(parts.stage.directory, 'zygote.bpf');
    await writeFile(zygoteProgram, zygoteSeccompProgram(), { mode: 0o444 });
    return new JailLauncher(parts, { program, zygoteProgram }, mountsOf(parts, await librariesOf(parts.node)));
  }

  async start(code: EventCode | null, memoryMb: number, behind: boolean): Promise<TaskProcess> {
    if (code === null) throw new Error('a jail needs code to start');
    const { slots, settings, groups } = this.#parts;
    const directory = slots.hasUsers ? await this.#parts.stage.reachable(code) : code.directory;
    const slot = slots.take();
    let group: ControlGroup | null = null;
    let forked: StartedProcess | null;
    let worker: WorkerProcess;
    try {
      group = groups?.make(slot.index, memoryMb) ?? null;
      forked = await this.#fork(slot, memoryMb, directory);
      if (behind) lowerPriority(forked?.pid);
      worker = new WorkerProcess(
        forked ?? (await this.#spawn(slot, memoryMb, directory, behind)),
        PIPES_CLOSE_MS,
        settings.clock,
      );
    } catch (error) {
      await releaseFailedStart(slot, group);
      throw error;
    }
    // Bubblewrap is the parent of a process that was not forked.
    const own = (): number | null => (forked === null ? childOf(worker.pid) : worker.pid);
    return {
      worker,
      lowerPriority: () => lowerPriority(worker.pid),
      restorePriority: () => restorePriority(worker.pid, own() ?? worker.pid),
      urlOf: ({ entry }) => moduleUrl(EVENT, entry),
      confine: async () => group?.admit(forked === null ? onlyChildOf(worker.pid) : worker.pid),
      traces: () => ({
        errorOutput: worker.stderr.text,
        wasOutOfMemory: group?.wasOutOfMemory() ?? false,
        memoryUse: group?.memoryUse() ?? 'unknown',
      }),
      hasStrays: () => false,
      kill: () => worker.kill(),
      gone: this.#afterEnd(worker, slot, group, settings.log),
    };
  }

  #spawn(slot: Slot, memoryMb: number, directory: string, behind: boolean): Promise<StartedProcess> {
    const { settings, starter } = this.#parts;
    const [command, ...args] = [
      ...this.#limits(slot, memoryMb, settings.openFiles),
      ...['bwrap', '--unshare-all', '--die-with-parent', '--as-pid-1'],
      // No new session: the starter already gave this process its own without a terminal, and the kernel schedules by
      // session.
      ...['--cap-drop', 'ALL', '--seccomp', String(SECCOMP_DESCRIPTOR)],
      ...this.#mounts,
      ...['--perms', '0700', '--size', String(settings.tmpBytes), '--tmpfs', '/tmp'],
      ...['--ro-bind', directory, EVENT],
      // Last, when all mounts are in place.
      ...['--remount-ro', '/', '--chdir', '/tmp', NODE],
      ...nodeFlags(memoryMb),
      ...[SANDBOX_BOOTSTRAP, PACKAGE_INSTALLED],
    ];
    const { environment } = settings;
    const { user } = slot;
    const files = [this.#program];
    return starter.start({ command, args, environment, directory: '/', user, streams: 4, files, behind });
  }

  /** @returns null if it has to be started by itself */
  async #fork(slot: Slot, memoryMb: number, directory: string): Promise<StartedProcess | null> {
    const key = `${identityOf(directory)}\0${memoryMb}`;
    const start = (): Promise<Zygote> => this.#startZygote(slot, memoryMb, directory);
    return (await this.#zygotes?.fork(key, start, slot.user)) ?? null;
  }

  /** Keeps the privileges that processes need until they are confined: those of the executor within this jail. */
  async #startZygote(slot: Slot, memoryMb: number, directory: string): Promise<Zygote> {
    const { settings, starter, threadBytes } = this.#parts;
    const { tmpBytes, openFiles, environment } = settings;
    const inner: ZygoteSettings = {
      ...{ native: NATIVE, tmpBytes, openFiles },
      dataBytes: threadBytes + dataBytes(memoryMb),
    };
    const [command, ...args] = [
      // Each forked process lowers its own.
      ...this.#limits(slot, memoryMb + ZYGOTE_EXTRA_MB, ZYGOTE_OPEN_FILES),
      ...['bwrap', '--die-with-parent', ...(slot.user === null ? ['--unshare-user'] : [])],
      ...['--unshare-ipc', '--unshare-pid', '--unshare-net', '--unshare-uts', '--unshare-cgroup-try'],
      ...['--cap-add', 'ALL', '--seccomp', String(ZYGOTE_FILES.ownFilter)],
      ...this.#mounts,
      ...['--dir', '/tmp', '--ro-bind', this.#native!, NATIVE, '--ro-bind', directory, EVENT],
      ...['--remount-ro', '/', '--chdir', '/', NODE],
      ...forkableNodeFlags(memoryMb),
      ...[SANDBOX_ZYGOTE, JSON.stringify(inner)],
    ];
    const files = [this.#program, starter.connections.directory, this.#zygoteProgram];
    const launch = { command, args, environment, directory: '/', user: null, streams: 3, files, behind: false };
    return new Zygote(await starter.start(launch), starter.connections);
  }

  #limits(slot: Slot, memoryMb: number, openFiles: number): readonly [string, ...string[]] {
    const { settings, baselineBytes } = this.#parts;
    const processes = slot.user === null ? null : THREADS_MAX;
    return limitedBy({ baselineBytes, memoryMb, openFiles, fileBytes: settings.tmpBytes, processes });
  }

  async #afterEnd(
    worker: WorkerProcess,
    slot: Slot,
    group: ControlGroup | null,
    log: LauncherParts['settings']['log'],
  ): Promise<void> {
    await worker.ended;
    try {
      await group?.remove();
    } catch (error) {
      log.error({ err: error, slot: slot.index }, 'could not clean up after a task');
    }
    slot[Symbol.dispose]();
  }

  async close(): Promise<void> {
    await this.#zygotes?.close();
  }
}

/** Returns the arguments of bubblewrap that all processes share. */
function mountsOf({ stage, node }: LauncherParts, libraries: readonly string[]): readonly string[] {
  const devices = DEVICES.map((name) => `/dev/${name}`);
  const folders = foldersAbove([...libraries, NODE, PACKAGE_DIRECTORY, ...devices]);
  return [
    ...['--hostname', 'jail'],
    // The users of forked processes do not own them.
    ...folders.flatMap((path) => ['--perms', '0755', '--dir', path]),
    ...libraries.flatMap((path) => ['--ro-bind', path, path]),
    ...['--ro-bind', node, NODE],
    ...['--ro-bind', stage.runtime, SANDBOX_RUNTIME],
    ...['--ro-bind', join(stage.runtime, 'package'), PACKAGE_DIRECTORY],
    ...['--proc', '/proc'],
    ...devices.flatMap((path) => ['--dev-bind', path, path]),
  ];
}

/** Returns the directories above these paths, outermost first. */
function foldersAbove(paths: readonly string[]): readonly string[] {
  const above = (path: string): string[] => (path === '/' ? [] : [...above(dirname(path)), path]);
  return [...new Set(paths.flatMap((path) => above(dirname(path))))];
}

/** Returns where the builds of koffi for this machine are; null if it is not installed. */
function nativeDirectory(): string | null {
  try {
    const koffi = createRequire(import.meta.resolve('koffi'));
    return dirname(koffi.resolve(`@koromix/koffi-${process.platform}-${process.arch}/package.json`));
  } catch {
    return null;
  }
}
