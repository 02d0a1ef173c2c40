import { Type, type TSchema } from 'typebox';

import { BATCH_WIRE_STATES, type BatchWireState } from '@heddle/base/vocabulary/task-state';

/** One of a fixed set of strings. */
export function oneOf<const Names extends string[]>(names: readonly [...Names], options: Record<string, unknown> = {}) {
  return Type.Unsafe<Names[number]>(Type.Enum([...names], { type: 'string', ...options }));
}

export const COUNT_MAX = 2_147_483_647;

const UUID_PATTERN = '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$';

export const Uuid = (description: string) =>
  Type.String({ format: 'uuid', pattern: UUID_PATTERN, patternMeaning: 'a UUID', description });

export const Timestamp = (description: string) =>
  Type.String({ description: `${description} (RFC 3339, UTC)`, examples: ['2026-01-01T00:00:00.000Z'] });

/** A time in a request, of which `timeOf` makes milliseconds. */
export const GivenTime = (description: string) =>
  Type.String({
    pattern: '^\\d{4}-\\d\\d-\\d\\d([Tt]\\d\\d:\\d\\d(:\\d\\d(\\.\\d{1,9})?)?([Zz]|[+-]\\d\\d:\\d\\d))?$',
    patternMeaning: 'a date, or an RFC 3339 timestamp such as 2026-01-31T08:00:00Z',
    description: `${description}: a date (UTC), or an RFC 3339 timestamp.`,
  });

export const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

export const Metadata = (description: string) =>
  Type.Record(Type.String(), Type.Unknown(), { description, additionalProperties: true });

export const Status = Type.Unsafe<BatchWireState>(
  oneOf(BATCH_WIRE_STATES as BatchWireState[], { description: 'Status of a task.' }),
);

export const Count = (description: string) => Type.Integer({ minimum: 0, maximum: COUNT_MAX, description });

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

export function isoTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms);
}
