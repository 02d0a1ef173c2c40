import { DatabaseError } from 'pg';

/** SQLSTATE classes that speak of the values given: data, constraints, program limits. */
const DATA_CLASSES = new Set(['22', '23', '54']);

/** Timeouts, lost races that were run again to no avail, and a server without room. */
const BUSY = /^(?:57014|55P03|40\w{3}|53\w{3})$/;

/**
 * Whether a failed statement speaks against its values (`data`: the same values will fail again) or against the moment
 * (`busy`: the same statement may go through later); null where neither is known.
 */
export function statementFault(error: unknown): 'data' | 'busy' | null {
  if (!(error instanceof DatabaseError)) return null;
  const code = error.code ?? '';
  if (BUSY.test(code)) return 'busy';
  return DATA_CLASSES.has(code.slice(0, 2)) ? 'data' : null;
}
