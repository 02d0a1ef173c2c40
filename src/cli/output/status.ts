import type { BasicTask } from './wire.ts';
import type { Style } from './output.ts';

export type Status = BasicTask['status'];

export interface StatusLook {
  symbol: string;
  style: Style;
}

/** How each status looks, in the order in which counts are shown. */
export const STATUS_LOOKS: Readonly<Record<Status, StatusLook>> = {
  Success: { symbol: '✔', style: 'green' },
  Failure: { symbol: '✖', style: 'red' },
  Canceled: { symbol: '⊘', style: 'magenta' },
  Running: { symbol: '▶', style: 'cyan' },
  Claimed: { symbol: '▷', style: 'cyan' },
  Pending: { symbol: '●', style: 'yellow' },
  Paused: { symbol: '‖', style: 'blue' },
  Waiting: { symbol: '◌', style: 'gray' },
};

export const STATUSES = Object.keys(STATUS_LOOKS) as readonly Status[];

export function isEnded(status: Status): boolean {
  return status === 'Success' || status === 'Failure' || status === 'Canceled';
}

export type StatusCounts = Partial<Record<Status, number>>;

/** `2 Running, 1 Waiting`, in the order of the looks; statuses without tasks are left out. */
export function countsInWords(counts: StatusCounts): string {
  const shown = STATUSES.filter((status) => (counts[status] ?? 0) > 0);
  return shown.map((status) => `${counts[status] ?? 0} ${status}`).join(', ');
}
