import { HeddleError } from '../../domain/errors.ts';
import { statementFault } from '../../store/statement-fault.ts';

/**
 * Whose fault an error is: `away` (the database cannot be had: nothing more can be done now); `busy` (it can, but not in
 * time, or not for now); `message` (something in one message that will never be right); `unknown` (perhaps something in
 * one message).
 */
export type Fault = 'away' | 'busy' | 'message' | 'unknown';

export function faultOf(error: unknown): Fault {
  if (error instanceof HeddleError) {
    if (error.code === 'DATABASE_UNAVAILABLE') return 'away';
    if (error.retryable) return 'busy';
    return error.status < 500 ? 'message' : 'unknown';
  }
  const fault = statementFault(error);
  return fault === 'data' ? 'message' : (fault ?? 'unknown');
}

/** What an error says, with what a HeddleError says in detail. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const details = error instanceof HeddleError ? error.details : [];
  return [error.message, ...details].join('; ');
}
