import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { ControlGroup } from './control-groups.ts';
import { childOf, onlyChildOf } from './family.ts';
import type { Launcher, TaskProcess } from './launcher.ts';
import { librariesOf } from './libraries.ts';
import { PACKAGE_IS_THERE } from './child/package-name.ts';
import { limitedBy, nodeFlags } from './limits.ts';
import type { EventCode } from './port.ts';
import { stepBehind, stepUp } from './priority.ts';
import { cannotGive } from './probe.ts';
import { abandonStart, type LauncherParts } from './process-launcher.ts';
import { seccompProgram } from './seccomp/program.ts';
import type { Slot } from './slots.ts';
import { moduleUrl, SANDBOX_BOOTSTRAP, SANDBOX_RUNTIME } from './stage.ts';
import { WorkerProcess } from './worker-process.ts';

/** Threads of one task; processes it can make none. */
const THREADS_MAX = 64;
/** Nothing outside of the jail can hold its pipes open, so they close when it is empty. */
const PIPES_CLOSE_MS = 10_000;

/** Where things lie within the jail. */
const NODE = '/usr/bin/node';
const EVENT = '/event';
/** Where code in that folder looks for packages that it does not bring. */
const PACKAGE = '/node_modules/heddle';
/** Not `zero`: what is mapped of it and shared is memory that no limit of a process counts. */
const DEVICES = ['null', 'random', 'urandom'] as const;
/** The first descriptor behind those of the channel. */
const SECCOMP_DESCRIPTOR = 4;

/** Starts processes in namespaces of their own, with a filter of system calls, an empty root and no network. */
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
      throw cannotGive('jail', `its filter of system calls is made for x64 and arm64, not ${process.arch}`);
    }
    const program = join(parts.stage.directory, 'seccomp.bpf');
    await writeFile(program, filter, { mode: 0o444 });
    return new JailLauncher(parts, program, fixedParameters(parts, await librariesOf(parts.node)));
  }

  async start(code: EventCode | null, memoryMb: number, behind: boolean): Promise<TaskProcess> {
    if (code === null) throw new Error('a jail is made for some code');
    const { slots, settings, groups } = this.#parts;
    const directory = slots.hasUsers ? await this.#parts.stage.reachable(code) : code.directory;
    const slot = slots.take();
    let group: ControlGroup | null = null;
    let worker: WorkerProcess;
    try {
      group = groups?.make(slot.index, memoryMb) ?? null;
      worker = await this.#spawn(slot, memoryMb, directory, behind);
    } catch (error) {
      await abandonStart(slot, group);
      throw error;
    }
    return {
      worker,
      stepBehind: () => stepBehind(worker.pid),
      stepUp: () => stepUp(worker.pid, childOf(worker.pid) ?? worker.pid),
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
      // Last, when everything has its place.
      ...['--remount-ro', '/', '--chdir', '/tmp', NODE],
      ...nodeFlags(memoryMb),
      SANDBOX_BOOTSTRAP,
      PACKAGE_IS_THERE,
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
      log.error({ err: error, slot: slot.index }, 'What a task left behind could not be removed');
    }
    slot[Symbol.dispose]();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** All parameters of bubblewrap but the code of the event. */
function fixedParameters({ settings, stage, node }: LauncherParts, libraries: readonly string[]): readonly string[] {
  return [
    // No session of its own: that of this process was made for it, has no terminal, and is what the kernel weighs.
    ...['--unshare-all', '--die-with-parent', '--as-pid-1'],
    ...['--cap-drop', 'ALL', '--hostname', 'jail'],
    ...['--seccomp', String(SECCOMP_DESCRIPTOR)],
    ...libraries.flatMap((path) => ['--ro-bind', path, path]),
    ...['--ro-bind', node, NODE],
    ...['--ro-bind', stage.runtime, SANDBOX_RUNTIME],
    ...['--ro-bind', join(stage.runtime, 'package'), PACKAGE],
    ...['--proc', '/proc'],
    ...DEVICES.flatMap((name) => ['--dev-bind', `/dev/${name}`, `/dev/${name}`]),
    ...['--perms', '0700', '--size', String(settings.tmpBytes), '--tmpfs', '/tmp'],
  ];
}
