import { chownSync, mkdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import type { Tier } from '../protocol/messages.ts';
import type { ControlGroup, ControlGroups } from './control-groups.ts';
import type { Launcher, TaskProcess } from './launcher.ts';
import { limitedBy, nodeFlags } from './limits.ts';
import type { TierSettings } from './options.ts';
import type { EventCode } from './port.ts';
import { stepBehind, stepUp } from './priority.ts';
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
    const { slots, settings, stage, groups, starter } = this.#parts;
    const slot = slots.take();
    this.#started += 1;
    const marker = `${process.pid}-${this.#started}`;
    const directory = join(stage.directory, 'work', String(this.#started));
    let group: ControlGroup | null = null;
    let worker: WorkerProcess;
    try {
      mkdirSync(directory, { mode: 0o700 });
      if (slot.user !== null) chownSync(directory, slot.user, slot.user);
      group = groups?.make(slot.index, memoryMb) ?? null;
      const launch = { ...this.#launch(slot, memoryMb, directory, marker), behind };
      worker = new WorkerProcess(await starter.start(launch), PIPES_CLOSE_MS, settings.clock);
    } catch (error) {
      await rm(directory, { recursive: true, force: true }).catch(() => undefined);
      await abandonStart(slot, group);
      throw error;
    }
    const gone = this.#afterEnd(worker, slot, directory, marker, group);
    return {
      worker,
      stepBehind: () => stepBehind(worker.pid),
      stepUp: () => stepUp(worker.pid),
      urlOf: (code) => this.#urlOf(code),
      confine: async () => group?.admit(worker.pid),
      traces: () => ({
        errorOutput: worker.stderr.text,
        wasOutOfMemory: group?.wasOutOfMemory() ?? false,
        memoryUse: group?.memoryUse() ?? 'unknown',
      }),
      hasStrays: () => (group === null ? hasChildren(worker.pid) : group.processes().length > 1),
      kill: () => {
        group?.kill();
        // Without a user of its own, what a task started can only be found while it lives.
        if (slot.user === null && !worker.isGone) killDescendants(worker.pid);
        worker.kill();
      },
      gone,
    };
  }

  #launch(slot: Slot, memoryMb: number, directory: string, marker: string): Omit<Launch, 'behind'> {
    const { settings, stage, node, baselineBytes } = this.#parts;
    const { environment, openFiles, tmpBytes } = settings;
    const processes = slot.user === null ? null : PROCESSES_MAX;
    const limits = { baselineBytes, memoryMb, openFiles, fileBytes: tmpBytes, processes };
    const bootstrap = [node, ...nodeFlags(memoryMb), stage.bootstrap];
    const [command, ...args] =
      process.platform === 'linux'
        ? // Where the executor is killed, the kernel ends its tasks.
          [...limitedBy(limits), 'setpriv', '--pdeathsig', 'KILL', '--no-new-privs', ...bootstrap]
        : bootstrap;
    return {
      command: command!,
      args,
      environment: { ...environment, [MARKER]: marker },
      directory,
      user: slot.user,
      streams: 4,
      files: [],
    };
  }

  async #urlOf(code: EventCode): Promise<string> {
    // Users of their own may not reach what this process can read.
    const directory = this.#parts.slots.hasUsers ? await this.#parts.stage.reachable(code) : code.directory;
    return moduleUrl(directory, code.entry);
  }

  async #afterEnd(
    worker: WorkerProcess,
    slot: Slot,
    directory: string,
    marker: string,
    group: ControlGroup | null,
  ): Promise<void> {
    const { settings } = this.#parts;
    await worker.exited;
    try {
      group?.kill();
      await sweepProcesses(() => leftOf(slot, marker, group), settings.clock);
      await worker.ended;
      await rm(directory, { recursive: true, force: true, maxRetries: 3 });
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
function hasChildren(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8') !== '';
  } catch {
    return false;
  }
}
