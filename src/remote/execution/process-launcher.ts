import { chownSync, mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import type { Tier } from '../protocol/messages.ts';
import type { ControlGroup, ControlGroups } from './control-groups.ts';
import { childOf, onlyChildOf } from './family.ts';
import type { Launcher, TaskProcess } from './launcher.ts';
import { limitedBy, nodeFlags } from './limits.ts';
import type { TierSettings } from './options.ts';
import type { EventCode } from './port.ts';
import { stepBehind, stepUp } from './priority.ts';
import { asUser, type PrivateTmp } from './private-tmp.ts';
import type { Slot, Slots } from './slots.ts';
import { moduleUrl, type Stage } from './stage.ts';
import { killDescendants, MARKER, processesOf, sweepProcesses } from './sweep.ts';
import type { Launch, Starter } from './starter/starter.ts';
import { WorkerProcess } from './worker-process.ts';

/** Processes and threads that a task can have. */
const PROCESSES_MAX = 128;
/** What holds the pipes longer is nothing that is known of. */
const PIPES_CLOSE_MS = 200;

/** What all processes of one tier share. */
export interface LauncherParts {
  readonly settings: TierSettings;
  readonly stage: Stage;
  readonly slots: Slots;
  readonly groups: ControlGroups | null;
  readonly starter: Starter;
  /** Null where the machine does not give tasks directories for temporary files of their own. */
  readonly privateTmp: PrivateTmp | null;
  /** The Node that tasks are run by, where every user can reach it. */
  readonly node: string;
  readonly baselineBytes: number;
}

/** Starts plain processes: within limits, and as users of their own where this process is root. */
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
      if (directory !== null) await rm(directory, { recursive: true, force: true }).catch(() => undefined);
      await abandonStart(slot, group);
      throw error;
    }
    const gone = this.#afterEnd(worker, slot, directory, marker, group);
    // Where it has directories of its own, bubblewrap waits for it.
    const own = (): number | null => (privateTmp === null ? worker.pid : childOf(worker.pid));
    return {
      worker,
      stepBehind: () => stepBehind(worker.pid),
      stepUp: () => stepUp(worker.pid, own() ?? worker.pid),
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
        // Without a user of its own, what a task started can only be found while it lives.
        if (slot.user === null && !worker.isGone) killDescendants(worker.pid);
        worker.kill();
      },
      gone,
    };
  }

  /** Null where it is in memory, and goes with its process. */
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
        ? // Where the executor is killed, the kernel ends its tasks.
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
      // To mount takes the rights of this process, which the task does not get.
      user: privateTmp === null ? slot.user : null,
      streams: 4,
      files: [],
    };
  }

  async #urlOf(code: EventCode): Promise<string> {
    // Users of their own may not reach what this process can read.
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
      if (directory !== null) await rm(directory, { recursive: true, force: true, maxRetries: 3 });
      await group?.remove();
    } catch (error) {
      settings.log.error({ err: error, slot: slot.index }, 'What a task left behind could not be removed');
    }
    slot[Symbol.dispose]();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** Gives back what a process would have had that could not be started: a seat is never lost. */
export async function abandonStart(slot: Slot, group: ControlGroup | null): Promise<void> {
  await group?.remove().catch(() => undefined);
  slot[Symbol.dispose]();
}

/**
 * What a task left. No process leaves a group that belongs to another user, and to look into that is one small file; else
 * all processes of the machine are looked at.
 */
function leftOf({ user }: Slot, marker: string, group: ControlGroup | null): number[] {
  return user !== null && group !== null ? group.processes() : processesOf({ user, marker });
}

/** Those that left its family are found by their user or environment once it has ended. */
function hasChildren(pid: number | null): boolean {
  return pid !== null && childOf(pid) !== null;
}

function makeDirectory(path: string, user: number | null): void {
  mkdirSync(path, { mode: 0o700 });
  if (user !== null) chownSync(path, user, user);
}
