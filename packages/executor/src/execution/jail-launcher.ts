import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { ControlGroup } from './control-groups.ts';
import { childOf, onlyChildOf } from './child-processes.ts';
import type { Launcher, TaskProcess } from './launcher.ts';
import { librariesOf } from './libraries.ts';
import { PACKAGE_DIRECTORY, PACKAGE_INSTALLED } from './child/package-name.ts';
import { limitedBy, nodeFlags } from './limits.ts';
import type { EventCode } from './port.ts';
import { lowerPriority, restorePriority } from './priority.ts';
import { tierUnavailable } from './probe.ts';
import { releaseFailedStart, type LauncherParts } from './process-launcher.ts';
import { seccompProgram } from './seccomp/program.ts';
import type { Slot } from './slots.ts';
import { moduleUrl, SANDBOX_BOOTSTRAP, SANDBOX_RUNTIME } from './stage.ts';
import { WorkerProcess } from './worker-process.ts';

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
/** First descriptor after those of the channel. */
const SECCOMP_DESCRIPTOR = 4;

/** Starts processes in their own namespaces, with a system call filter, an empty root and no network. */
export class JailLauncher implements Launcher {
  readonly tier = 'jail';
  readonly #parts: LauncherParts;
  readonly #program: string;
  readonly #fixed: readonly string[];

  private constructor(parts: LauncherParts, program: string, fixed: readonly string[]) {
    this.#parts = parts;
    this.#program = program;
    this.#fixed = fixed;
  }

  /** @throws HeddleError VALIDATION_FAILED */
  static async make(parts: LauncherParts): Promise<JailLauncher> {
    const filter = seccompProgram(process.arch);
    if (filter === null) {
      throw tierUnavailable('jail', `its system call filter supports x64 and arm64, not ${process.arch}`);
    }
    const program = join(parts.stage.directory, 'seccomp.bpf');
    await writeFile(program, filter, { mode: 0o444 });
    return new JailLauncher(parts, program, fixedParameters(parts, await librariesOf(parts.node)));
  }

  async start(code: EventCode | null, memoryMb: number, behind: boolean): Promise<TaskProcess> {
    if (code === null) throw new Error('a jail needs code to start');
    const { slots, settings, groups } = this.#parts;
    const directory = slots.hasUsers ? await this.#parts.stage.reachable(code) : code.directory;
    const slot = slots.take();
    let group: ControlGroup | null = null;
    let worker: WorkerProcess;
    try {
      group = groups?.make(slot.index, memoryMb) ?? null;
      worker = await this.#spawn(slot, memoryMb, directory, behind);
    } catch (error) {
      await releaseFailedStart(slot, group);
      throw error;
    }
    return {
      worker,
      lowerPriority: () => lowerPriority(worker.pid),
      restorePriority: () => restorePriority(worker.pid, childOf(worker.pid) ?? worker.pid),
      urlOf: ({ entry }) => moduleUrl(EVENT, entry),
      confine: async () => group?.admit(onlyChildOf(worker.pid)),
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

  async #spawn(slot: Slot, memoryMb: number, directory: string, behind: boolean): Promise<WorkerProcess> {
    const { settings, baselineBytes, starter } = this.#parts;
    const { environment, openFiles, tmpBytes, clock } = settings;
    const processes = slot.user === null ? null : THREADS_MAX;
    const limits = { baselineBytes, memoryMb, openFiles, fileBytes: tmpBytes, processes };
    const [command, ...args] = [
      ...limitedBy(limits),
      'bwrap',
      ...this.#fixed,
      ...['--ro-bind', directory, EVENT],
      // Last, when all mounts are in place.
      ...['--remount-ro', '/', '--chdir', '/tmp', NODE],
      ...nodeFlags(memoryMb),
      SANDBOX_BOOTSTRAP,
      PACKAGE_INSTALLED,
    ];
    const started = await starter.start({
      command,
      args,
      environment,
      directory: '/',
      user: slot.user,
      streams: 4,
      files: [this.#program],
      behind,
    });
    return new WorkerProcess(started, PIPES_CLOSE_MS, clock);
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

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** Returns all bubblewrap arguments except the event's code. */
function fixedParameters({ settings, stage, node }: LauncherParts, libraries: readonly string[]): readonly string[] {
  return [
    // No new session: the starter already gave this process its own without a terminal, and the kernel schedules by
    // session.
    ...['--unshare-all', '--die-with-parent', '--as-pid-1'],
    ...['--cap-drop', 'ALL', '--hostname', 'jail'],
    ...['--seccomp', String(SECCOMP_DESCRIPTOR)],
    ...libraries.flatMap((path) => ['--ro-bind', path, path]),
    ...['--ro-bind', node, NODE],
    ...['--ro-bind', stage.runtime, SANDBOX_RUNTIME],
    ...['--ro-bind', join(stage.runtime, 'package'), PACKAGE_DIRECTORY],
    ...['--proc', '/proc'],
    ...DEVICES.flatMap((name) => ['--dev-bind', `/dev/${name}`, `/dev/${name}`]),
    ...['--perms', '0700', '--size', String(settings.tmpBytes), '--tmpfs', '/tmp'],
  ];
}
