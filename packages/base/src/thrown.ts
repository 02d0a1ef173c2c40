import { HeddleError } from './errors.ts';

/** Returns the message of any thrown value, or the name of an error without a message. */
export function messageOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  // Node merges the failures of several addresses into one error with an empty message.
  if (thrown.message === '' && thrown instanceof AggregateError) return thrown.errors.map(messageOf).join('; ');
  return thrown.message || thrown.name;
}

/** Returns the message of any thrown value, with the details of a HeddleError. */
export function detailedMessageOf(thrown: unknown): string {
  return [messageOf(thrown), ...(thrown instanceof HeddleError ? thrown.details : [])].join('; ');
}

export function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** Returns why a signal was aborted, as an error. */
export function abortErrorOf({ reason }: { readonly reason: unknown }): Error {
  return reason instanceof Error ? reason : new Error('aborted', { cause: reason });
}
