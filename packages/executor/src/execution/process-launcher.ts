import { chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

import type { Tier } from '../protocol/messages.ts';
import type { ControlGroup, ControlGroups } from './control-groups.ts';
import { childOf, onlyChildOf } from './child-processes.ts';
import { removeTree } from './directory-tree.ts';
import type { Launcher, TaskProcess } from './launcher.ts';
import { type Baseline, limitedBy, nodeFlags } from './limits.ts';
import type { TierSettings } from './options.ts';
import type { EventCode } from './port.ts';
import { lowerPriority, restorePriority } from './priority.ts';
import { asUser, type PrivateTmp } from './private-tmp.ts';
import type { Slot, Slots } from './slots.ts';
import { moduleUrl, type Stage } from './stage.ts';
import { killDescendants, leftOf, MARKER, sweepProcesses } from './sweep.ts';
import type { Launch, Starter } from './starter/starter.ts';
import { WorkerProcess } from './worker-process.ts';

/** Maximum processes and threads of a task. */
const PROCESSES_MAX = 128;
/** Time for pipes to close; anything that holds them longer is unknown. */
const PIPES_CLOSE_MS = 200;

/** Resources shared by all processes of a tier. */
export interface LauncherParts extends Baseline {
  readonly settings: TierSettings;
  readonly stage: Stage;
  readonly slots: Slots;
  readonly groups: ControlGroups | null;
  readonly starter: Starter;
  /** Null if the machine does not support private temporary directories. */
  readonly privateTmp: PrivateTmp | null;
  /** Path of the Node executable that tasks run, reachable by every user. */
  readonly node: string;
}

/** Starts plain processes with limits, and under separate users if this process is root. */
export class ProcessLauncher implements Launcher {
  readonly tier: Tier;
  readonly #parts: LauncherParts;
  #started = 0;

  constructor(tier: 'pooled' | 'process', parts: LauncherParts) {
    this.tier = tier;
    this.#parts = parts;
  }

  async start(_code: EventCode | null, memoryMb: number, behind: boolean): Promise<TaskProcess> {
    const { slots, settings, groups, starter, privateTmp } = this.#parts;
    const slot = slots.take();
    this.#started += 1;
    const marker = `${process.pid}-${this.#started}`;
    const directory = this.#workDirectory();
    let group: ControlGroup | null = null;
    let worker: WorkerProcess;
    try {
      if (directory !== null) makeDirectory(directory, slot.user);
      group = groups?.make(slot.index, memoryMb) ?? null;
      const launch = { ...this.#launch(slot, memoryMb, directory, marker), behind };
      worker = new WorkerProcess(await starter.start(launch), PIPES_CLOSE_MS, settings.clock);
    } catch (error) {
      if (directory !== null) await removeTree(directory).catch(() => undefined);
      await releaseFailedStart(slot, group);
      throw error;
    }
    const gone = this.#afterEnd(worker, slot, directory, marker, group);
    // With private directories, bubblewrap is the parent.
    const own = (): number | null => (privateTmp === null ? worker.pid : childOf(worker.pid));
    return {
      worker,
      lowerPriority: () => lowerPriority(worker.pid),
      restorePriority: () => restorePriority(worker.pid, own() ?? worker.pid),
      urlOf: (code) => this.#urlOf(code),
      confine: async () => group?.admit(privateTmp === null ? worker.pid : onlyChildOf(worker.pid)),
      traces: () => ({
        errorOutput: worker.stderr.text,
        wasOutOfMemory: group?.wasOutOfMemory() ?? false,
        memoryUse: group?.memoryUse() ?? 'unknown',
      }),
      hasStrays: () => (group === null ? hasChildren(own()) : group.processes().length > 1),
      kill: () => {
        group?.kill();
        // Without a separate user, descendants can be found only while the process lives.
        if (slot.user === null && !worker.isGone) killDescendants(worker.pid);
        worker.kill();
      },
      gone,
    };
  }

  /** Returns null if the directory is in memory and goes with its process. */
  #workDirectory(): string | null {
    const { privateTmp, stage } = this.#parts;
    return privateTmp === null ? join(stage.directory, 'work', String(this.#started)) : null;
  }

  #launch(slot: Slot, memoryMb: number, directory: string | null, marker: string): Omit<Launch, 'behind'> {
    const { settings, stage, node, baselineBytes, privateTmp } = this.#parts;
    const { environment, openFiles, tmpBytes } = settings;
    const processes = slot.user === null ? null : PROCESSES_MAX;
    const limits = { baselineBytes, memoryMb, openFiles, fileBytes: tmpBytes, processes };
    const bootstrap = [node, ...nodeFlags(memoryMb), stage.bootstrap];
    const [command, ...args] =
      process.platform === 'linux'
        ? // If the executor is killed, the kernel kills its tasks.
          [
            ...limitedBy(limits),
            ...(privateTmp?.command ?? []),
            ...['setpriv', ...(privateTmp === null ? [] : asUser(slot.user))],
            ...['--pdeathsig', 'KILL', '--no-new-privs', ...bootstrap],
          ]
        : bootstrap;
    return {
      command: command!,
      args,
      environment: { ...environment, [MARKER]: marker },
      directory: directory ?? '/',
      // Mounting needs the privileges of this process, which the task does not get.
      user: privateTmp === null ? slot.user : null,
      streams: 4,
      files: [],
    };
  }

  async #urlOf(code: EventCode): Promise<string> {
    // Separate users may not reach what this process can read.
    const { slots, privateTmp } = this.#parts;
    const directory = slots.hasUsers || privateTmp !== null ? await this.#parts.stage.reachable(code) : code.directory;
    return moduleUrl(directory, code.entry);
  }

  async #afterEnd(
    worker: WorkerProcess,
    slot: Slot,
    directory: string | null,
    marker: string,
    group: ControlGroup | null,
  ): Promise<void> {
    const { settings } = this.#parts;
    await worker.exited;
    try {
      group?.kill();
      await sweepProcesses(() => leftOf(slot, marker, group), settings.clock);
      await worker.ended;
      if (directory !== null) await removeTree(directory);
      await group?.remove();
    } catch (error) {
      settings.log.error({ err: error, slot: slot.index }, 'could not clean up after a task');
    }
    slot[Symbol.dispose]();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** Releases the resources of a process that could not be started, so that no slot is lost. */
export async function releaseFailedStart(slot: Slot, group: ControlGroup | null): Promise<void> {
  await group?.remove().catch(() => undefined);
  slot[Symbol.dispose]();
}

/** Returns whether a process has children. Detached ones are found by user or environment after it has ended. */
function hasChildren(pid: number | null): boolean {
  return pid !== null && childOf(pid) !== null;
}

function makeDirectory(path: string, user: number | null): void {
  mkdirSync(path, { mode: 0o700 });
  if (user !== null) chownSync(path, user, user);
}
