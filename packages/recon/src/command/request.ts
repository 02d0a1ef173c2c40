import type { ProbeProgress } from '../options.ts';
import type { ReconRecord } from '../records.ts';
import type { ReconRequest } from './options.ts';

/** What would be sent, without sending it. */
export interface ReconPlan {
  readonly type: 'plan';
  readonly probe: ReconRequest['probe'];
  readonly targets: number;
  /** Targets that the scope does not allow. */
  readonly refused: number;
  readonly ports: number | null;
  /** Ports, names with types, or TLS endpoints; null if a list on standard input was not counted. */
  readonly endpoints: number | null;
  readonly packets_max: number | null;
  /** At the given rate, with every retry; null if nothing limits it. */
  readonly duration_secs_max: number | null;
  readonly rate: number | null;
  readonly host_rate: number | null;
  readonly seed: number;
}

/** The terminal that a run was started on. */
export interface ReconTerminal {
  /** Prints a record: a line of JSON, or a row with its header. */
  readonly render: (record: ReconRecord) => string;
  readonly plan: (plan: ReconPlan) => string;
  /** Writes to standard output; resolves when it accepts more. */
  readonly print: (text: string) => Promise<void> | undefined;
  /** Prints a line on standard error. */
  readonly notice: (text: string) => void;
  readonly progress: (progress: ProbeProgress) => void;
  readonly stopProgress: () => void;
  /** Calls back when standard output can no longer be written. */
  readonly onClosed: (run: (error: NodeJS.ErrnoException) => void) => void;
}

/** Exit codes of `heddle recon`. */
export const RECON_EXIT = {
  done: 0,
  /** The request cannot be carried out, or every target was refused. */
  error: 2,
  /** Some targets were refused or not probed. */
  incomplete: 3,
  interrupted: 130,
} as const;

export type ReconExit = (typeof RECON_EXIT)[keyof typeof RECON_EXIT];
