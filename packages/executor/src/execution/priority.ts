import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

/**
 * Nice steps for spare processes: they get a tenth of the processor time of others, and none while a waiting task needs
 * it immediately.
 */
const STEPS_BEHIND = 10;
/** Capability bits needed to change the priority of other processes. */
const CAP_SYS_ADMIN = 21n;
const CAP_SYS_NICE = 23n;

/**
 * Whether this process may lower priorities and raise them again; without these capabilities they could not be raised.
 * The kernel schedules by session where autogroups are on, and by process elsewhere, so both are set.
 */
export const canLowerPriority = hasPriorityCapabilities();

/** Lowers the priority of a new process, which leads its own session, and of everything in that session. */
export function lowerPriority(leader: number | undefined): void {
  if (!canLowerPriority || leader === undefined) return;
  setSessionPriority(leader, STEPS_BEHIND);
  attempt(() => setPriority(leader, getPriority() + STEPS_BEHIND));
}

/** @param pid process in the session that has work to do now; undefined if none is left */
export function restorePriority(leader: number | undefined, pid = leader): void {
  if (!canLowerPriority || leader === undefined || pid === undefined) return;
  setSessionPriority(leader, 0);
  const priority = getPriority();
  // Threads inherit their priority from their creator, so the main thread comes first.
  attempt(() => setPriority(pid, priority));
  for (const thread of threadsOf(pid)) attempt(() => setPriority(thread, priority));
}

function setSessionPriority(leader: number, steps: number): void {
  attempt(() => writeFileSync(`/proc/${leader}/autogroup`, String(steps)));
}

function threadsOf(pid: number): readonly number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    return [];
  }
}

/** Ignores errors: the process may have ended, and not every kernel has autogroups. */
function attempt(step: () => void): void {
  try {
    step();
  } catch {
    // It keeps the default priority.
  }
}

function hasPriorityCapabilities(): boolean {
  try {
    const [, bits] = /^CapEff:\s+([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
    const rights = BigInt(`0x${bits}`);
    return [CAP_SYS_ADMIN, CAP_SYS_NICE].every((right) => ((rights >> right) & 1n) === 1n);
  } catch {
    return false;
  }
}
