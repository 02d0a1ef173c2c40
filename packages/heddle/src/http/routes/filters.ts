import { Type } from 'typebox';

import { HeddleError, type ErrorCode } from '@heddle/base/errors';
import { GivenTime } from '../wire/basics.ts';

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
  return Type.Optional(GivenTime(description));
}

/**
 * Returns milliseconds since the epoch.
 * @param name the parameter that has it
 * @param code of the error for a date that does not exist
 * @throws HeddleError
 */
export function timeOf(name: string, text: string, code: ErrorCode = 'INVALID_QUERY'): number {
  const moment = Date.parse(text);
  if (Number.isFinite(moment)) return moment;
  throw new HeddleError(code, undefined, { details: [`${name}: no such date or time: ${text}`] });
}
