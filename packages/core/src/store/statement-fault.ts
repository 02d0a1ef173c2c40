import { DatabaseError } from 'pg';

/** SQLSTATE classes about the given values: data, constraints, program limits. */
const DATA_CLASSES = new Set(['22', '23', '54']);

/** Timeouts, conflicts that retries did not resolve, and exhausted server resources. */
const BUSY = /^(?:57014|55P03|40\w{3}|53\w{3})$/;

/**
 * Classifies a failed statement: `data` (the same values will fail again), `busy` (the same statement may succeed
 * later), or null if unknown.
 */
export function statementFault(error: unknown): 'data' | 'busy' | null {
  if (!(error instanceof DatabaseError)) return null;
  const code = error.code ?? '';
  if (BUSY.test(code)) return 'busy';
  return DATA_CLASSES.has(code.slice(0, 2)) ? 'data' : null;
}
