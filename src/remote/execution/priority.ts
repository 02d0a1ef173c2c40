import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

/**
 * How far behind everything else what is started ahead stands: the kernel gives it a tenth of what others get, and none of
 * the time that somebody who was waiting for something needs at once.
 */
const STEPS_BEHIND = 10;
/** Bits of the rights to set what another one's processes get. */
const CAP_SYS_ADMIN = 21n;
const CAP_SYS_NICE = 23n;

/**
 * Whether this process may put others behind, and in front again: without these rights what is behind would have to stay
 * there. The kernel weighs sessions against each other where nobody grouped processes, and processes elsewhere: both are set.
 */
export const canStepBehind = mayWeigh();

/** A process that was just started leads a session of its own: everything in that yields to what has work to do. */
export function stepBehind(leader: number | undefined): void {
  if (!canStepBehind || leader === undefined) return;
  weigh(leader, STEPS_BEHIND);
  attempt(() => setPriority(leader, getPriority() + STEPS_BEHIND));
}

/** @param pid of those in the session, the one that has work to do now; none where nothing is left of it */
export function stepUp(leader: number | undefined, pid = leader): void {
  if (!canStepBehind || leader === undefined || pid === undefined) return;
  weigh(leader, 0);
  const priority = getPriority();
  // Threads inherit from those that start them, so the first one comes first.
  attempt(() => setPriority(pid, priority));
  for (const thread of threadsOf(pid)) attempt(() => setPriority(thread, priority));
}

function weigh(leader: number, steps: number): void {
  attempt(() => writeFileSync(`/proc/${leader}/autogroup`, String(steps)));
}

function threadsOf(pid: number): readonly number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    return [];
  }
}

/** It may have ended, and not every kernel knows sessions' weights. */
function attempt(step: () => void): void {
  try {
    step();
  } catch {
    // It runs as everything else does.
  }
}

function mayWeigh(): boolean {
  try {
    const [, bits] = /^CapEff:\s+([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
    const rights = BigInt(`0x${bits}`);
    return [CAP_SYS_ADMIN, CAP_SYS_NICE].every((right) => ((rights >> right) & 1n) === 1n);
  } catch {
    return false;
  }
}
