import { ChildFailure, messageOf } from './failure.ts';

// Kept before any code of an event is loaded, which may replace it.
const { stringify } = JSON;

/** Ends the building of a text that would be too long. */
class TooLong extends Error {}

/**
 * The JSON of a result; undefined is null. It stops counting, and building, soon after the limit.
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

/** undefined where the value has no JSON: functions, symbols, undefined itself. */
function textOf(
  value: unknown,
  replacer: (key: string, member: unknown) => unknown,
  bytesMax: number,
): string | undefined {
  try {
    return stringify(value, replacer);
  } catch (error) {
    if (error instanceof TooLong) throw tooLarge(bytesMax);
    if (error instanceof RangeError && error.message === 'Invalid string length') throw tooLarge(bytesMax);
    throw new ChildFailure('RESULT_NOT_SERIALIZABLE', `the result is not JSON: ${messageOf(error)}`);
  }
}

function tooLarge(bytesMax: number): ChildFailure {
  return new ChildFailure('RESULT_TOO_LARGE', `the result has more than ${bytesMax} bytes of JSON`);
}
