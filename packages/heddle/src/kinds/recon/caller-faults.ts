import { HeddleError } from '@heddle/base/errors';
import type { Members } from '@heddle/base/parse/members';
import { placeOf } from '@heddle/base/parse/path';

/**
 * Returns the result of `read`; its errors become faults of the member that each detail names, so that all faults of
 * an input are reported at once.
 */
export function readOrFault<Value>(input: Members, member: string, read: () => Value): Value | null {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    const details = error.details.length > 0 ? error.details : [error.message];
    for (const detail of details) addFault(input, member, detail);
    return null;
  }
}

/** Splits `targets[3]: "x" is …` into the element and the message. */
function addFault(input: Members, member: string, detail: string): void {
  const [, name, index, message] = /^(\w+)(?:\[(\d+)\])?: (.*)$/s.exec(detail) ?? [];
  if (name === undefined || message === undefined) {
    input.fault(member, detail);
    return;
  }
  const place = input.at(name);
  input.faults.add(index === undefined ? place : placeOf(place, Number(index)), message);
}
