import { Type } from 'typebox';

import { HeddleError } from '@heddle/base/errors';
import type { JsonObject } from '@heddle/base/json';
import { parseStrictJson } from '@heddle/base/json/parse';

/** A string filter of a list, without NUL, which the database does not accept. */
export function textFilter(maxLength: number, description: string) {
  return Type.Optional(requiredText(maxLength, description));
}

/** A string that a list is of, without NUL. */
export function requiredText(maxLength: number, description: string) {
  return Type.String({
    minLength: 1,
    maxLength,
    pattern: '^[^\\u0000]*$',
    patternMeaning: 'string without NUL',
    description,
  });
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

/** A filter of a list by metadata; `readMetadataFilter` parses its value. */
export function metadataFilter(description: string) {
  return Type.Optional(Type.String({ maxLength: 8192, description }));
}

/** @throws HeddleError INVALID_QUERY if it is not a JSON object */
export function readMetadataFilter(text: string): JsonObject {
  let value: unknown;
  try {
    value = parseStrictJson(Buffer.from(text), 'metadata');
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    const details = error.details.map((detail) => detail.replace(/^body:/, 'metadata:'));
    throw new HeddleError('INVALID_QUERY', undefined, { details, cause: error });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw new HeddleError('INVALID_QUERY', undefined, {
    details: ['metadata: must be a JSON object, such as {"key":"value"}'],
  });
}
