import { BudgetFault } from '../archive/context.ts';
import type { Problem, ProblemCode } from '../result.ts';
import { ObjectFault } from '../source/port.ts';

/** The problem that an error is for an object. What is no `ObjectFault` is a defect of a reader: named, so that it is seen. */
export function problemOf(error: unknown, path: string, extent: Problem['extent']): Problem {
  if (error instanceof ObjectFault) return error.problem;
  const text = error instanceof Error ? error.message : String(error);
  return { code: 'unreadable', path, message: `it cannot be read: ${text}`, extent };
}

/** The budget that ended, where the error is one. */
export function budgetOf(error: unknown): BudgetFault | null {
  return error instanceof BudgetFault ? error : null;
}

const ARCHIVE_FAILURES: ReadonlySet<ProblemCode> = new Set([
  'encrypted',
  'malformed_archive',
  'unsupported_archive',
  'depth_budget',
  'entry_count_budget',
  'entry_bytes_budget',
  'archive_bytes_budget',
  'root_bytes_budget',
  'ratio_budget',
  'overlapping_entries',
]);

/** True where an archive was not read whole, for a budget or for what it is. */
export function isArchiveFailure({ code, extent }: Problem): boolean {
  return extent !== 'notice' && ARCHIVE_FAILURES.has(code);
}
