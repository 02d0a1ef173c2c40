import { constants } from 'node:os';

export interface ExitStatus {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Reads a status of `waitpid` of a process that has ended. */
export function exitStatusOf(status: number): ExitStatus {
  const number = status & 0x7f;
  if (number === 0) return { exitCode: (status >> 8) & 0xff, signal: null };
  const name = Object.entries(constants.signals).find(([, value]) => value === number)?.[0];
  return { exitCode: null, signal: (name ?? 'SIGKILL') as NodeJS.Signals };
}
