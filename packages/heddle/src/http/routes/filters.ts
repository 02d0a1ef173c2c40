import { Type } from 'typebox';

import { HeddleError, type ErrorCode } from '@heddle/base/errors';
import type { JsonObject } from '@heddle/base/json';
import { parseStrictJson } from '@heddle/base/json/parse';
import { HASH_PATTERN } from '@heddle/core/domain/stored-hash';
import { GivenTime } from '../wire/basics.ts';

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

/** The fingerprint of a group of failures. */
export function Fingerprint(description: string) {
  return Type.String({
    pattern: HASH_PATTERN,
    patternMeaning: '16 hexadecimal digits, as in `failing` of /v1/home',
    description,
  });
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
