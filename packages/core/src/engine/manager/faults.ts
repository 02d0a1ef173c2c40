import { HeddleError } from '@heddle/base/errors';
import { statementFault } from '../../store/statement-fault.ts';

/**
 * Classifies an error: `away` (the database is unavailable; stop for now), `busy` (it is available, but timed out or
 * rejects writes for now), `message` (one message is permanently invalid), `unknown` (possibly one message).
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
