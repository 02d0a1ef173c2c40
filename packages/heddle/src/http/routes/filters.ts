import { Type } from 'typebox';

import { HeddleError } from '@heddle/base/errors';

/** A string filter of a list, without NUL, which the database does not accept. */
export function textFilter(maxLength: number, description: string) {
  return Type.Optional(
    Type.String({
      minLength: 1,
      maxLength,
      pattern: '^[^\\u0000]*$',
      patternMeaning: 'string without NUL',
      description,
    }),
  );
}

/** A time filter of a list; `timeOf` parses its value. */
export function timeFilter(description: string) {
  return Type.Optional(
    Type.String({
      pattern: '^\\d{4}-\\d\\d-\\d\\d([Tt]\\d\\d:\\d\\d(:\\d\\d(\\.\\d{1,9})?)?([Zz]|[+-]\\d\\d:\\d\\d))?$',
      patternMeaning: 'a date, or an RFC 3339 timestamp such as 2026-01-31T08:00:00Z',
      description: `${description}: a date (UTC), or an RFC 3339 timestamp.`,
    }),
  );
}

/**
 * Returns milliseconds since the epoch.
 * @param name the parameter that has it
 * @throws HeddleError INVALID_QUERY for a date that does not exist
 */
export function timeOf(name: string, text: string): number {
  const moment = Date.parse(text);
  if (Number.isFinite(moment)) return moment;
  throw new HeddleError('INVALID_QUERY', undefined, { details: [`${name}: no such date or time: ${text}`] });
}
