import { ChildFailure, messageOf } from './failure.ts';

// Captured before event code is loaded, which may replace it.
const { stringify } = JSON;

/** Aborts the serialization of an oversized result. */
class TooLong extends Error {}

/**
 * Serializes a result as JSON; undefined becomes null. Stops soon after the limit is exceeded.
 *
 * @throws ChildFailure RESULT_TOO_LARGE, RESULT_NOT_SERIALIZABLE
 */
export function serializeResult(value: unknown, bytesMax: number): string {
  let characters = 0;
  const count = (key: string, member: unknown): unknown => {
    characters += key.length + 1;
    if (typeof member === 'string') characters += member.length;
    if (characters > bytesMax + 1) throw new TooLong();
    return member;
  };
  const text = textOf(value, count, bytesMax);
  if (text === undefined) {
    if (value === undefined) return 'null';
    throw new ChildFailure('RESULT_NOT_SERIALIZABLE', `the result is not JSON: it is a ${typeof value}`);
  }
  if (text.length > bytesMax || Buffer.byteLength(text) > bytesMax) throw tooLarge(bytesMax);
  return text;
}

/** Returns undefined for values without JSON: functions, symbols, undefined. */
function textOf(
  value: unknown,
  replacer: (key: string, member: unknown) => unknown,
  bytesMax: number,
): string | undefined {
  try {
    return stringify(value, replacer);
  } catch (error) {
    if (error instanceof TooLong) throw tooLarge(bytesMax);
    throw new ChildFailure('RESULT_NOT_SERIALIZABLE', `the result is not JSON: ${messageOf(error)}`);
  }
}

function tooLarge(bytesMax: number): ChildFailure {
  return new ChildFailure('RESULT_TOO_LARGE', `the result is larger than ${bytesMax} bytes of JSON`);
}
