import { ApiError } from '../api/client.ts';
import { faultsOfDetails } from '../ui/code/json-path.ts';

/** What the server said about one member of what it was sent. */
export function faultOf(error: unknown, member: string, root = ''): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  return faultsOfDetails(error.details, root).find(({ path }) => path[0] === member)?.message;
}

export interface FieldFaults<Field extends string> {
  /** What is wrong with each field, in the server's words. */
  byField: Readonly<Partial<Record<Field, readonly string[]>>>;
  /** The faults that belong to none of them; null: there are none. */
  other: Error | null;
}

/** Divides the details of a rejection by the field that each begins with: `cron: …`, `workflow.root.mode: …`. */
export function faultsOf<Field extends string>(error: unknown, fields: readonly Field[]): FieldFaults<Field> {
  const byField = {} as Partial<Record<Field, string[]>>;
  if (error === null || error === undefined) return { byField, other: null };
  if (!(error instanceof ApiError)) {
    return { byField, other: error instanceof Error ? error : new Error('The request failed', { cause: error }) };
  }
  const others: string[] = [];
  for (const detail of error.details) {
    const field = fields.find((name) => new RegExp(`^${name}\\b`).test(detail));
    if (field === undefined) others.push(detail);
    else (byField[field] ??= []).push(detail.replace(`${field}: `, ''));
  }
  const isTold = others.length === 0 && error.details.length > 0;
  return { byField, other: isTold ? null : new ApiError(error.status, error.message, others) };
}
