import { messageOf } from '@heddle/base/thrown';
import { BudgetFault } from '../archive/context.ts';
import type { Problem, ProblemCode } from '../result.ts';
import { ObjectFault } from '../source/port.ts';

/**
 * Converts an error to a problem of an object. Anything but an `ObjectFault` is a defect of a reader, reported with
 * its name.
 */
export function problemOf(error: unknown, path: string, extent: Problem['extent']): Problem {
  if (error instanceof ObjectFault) return error.problem;
  const text = messageOf(error);
  return { code: 'unreadable', path, message: `it cannot be read: ${text}`, extent };
}

/** Returns the problem of an archive whose raw bytes are scanned instead of its entries. */
export function unsupported(path: string, name: string): Problem {
  const message = `archives of the format ${name} are not opened; the raw bytes were scanned`;
  return { code: 'unsupported_archive', path, message, extent: 'partial' };
}

/** Returns the problem of an archive behind a program or a script that is not opened. */
export function unopenedEmbedded(path: string, name: string, isNested: boolean): Problem {
  const what = isNested ? `within other archives are not opened (${name})` : `of the format ${name} are not opened`;
  const message = `self-extracting archives ${what}; the raw bytes were scanned`;
  return { code: 'unsupported_archive', path, message, extent: 'partial' };
}

/** Returns the problem of an archive behind a program or a script of which no entry can be read. */
export function damagedEmbedded(name: string, fault: Problem): Problem {
  const message = `the ${name} archive behind the program or script cannot be opened: ${fault.message}; the raw bytes were scanned`;
  return { ...fault, message, extent: 'partial' };
}

/** Returns the budget fault that caused the error, if any. */
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

/** Returns true if an archive was not read completely, because of a budget or of its content. */
export function isArchiveFailure({ code, extent }: Problem): boolean {
  return extent !== 'notice' && ARCHIVE_FAILURES.has(code);
}
