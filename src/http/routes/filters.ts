import { Type } from 'typebox';

import { HeddleError } from '../../domain/errors.ts';

/** A filter of a list by a text; one without NUL, which the database does not take. */
export function textFilter(maxLength: number, description: string) {
  return Type.Optional(
    Type.String({
      minLength: 1,
      maxLength,
      pattern: '^[^\\u0000]*$',
      patternMeaning: 'text without NUL',
      description,
    }),
  );
}

/** A filter of a list by time; what it is given is read by `momentOf`. */
export function momentFilter(description: string) {
  return Type.Optional(
    Type.String({
      pattern: '^\\d{4}-\\d\\d-\\d\\d([Tt]\\d\\d:\\d\\d(:\\d\\d(\\.\\d{1,9})?)?([Zz]|[+-]\\d\\d:\\d\\d))?$',
      patternMeaning: 'a day, or a moment as RFC 3339 writes it: 2026-01-31T08:00:00Z',
      description: `${description}: a day (UTC), or a moment (RFC 3339).`,
    }),
  );
}

/**
 * Milliseconds since the epoch.
 *
 * @param name the parameter that has it
 * @throws HeddleError INVALID_QUERY for a day that no month has
 */
export function momentOf(name: string, text: string): number {
  const moment = Date.parse(text);
  if (Number.isFinite(moment)) return moment;
  throw new HeddleError('INVALID_QUERY', undefined, { details: [`${name}: there is no such moment: ${text}`] });
}
