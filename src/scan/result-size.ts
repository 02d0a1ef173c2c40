import type { Finding, Problem } from './result.ts';

/** An object of JavaScript with the fields of a finding, or of a problem, and short strings. */
const FINDING_BYTES = 512;
const PROBLEM_BYTES = 128;

/** About the memory that a finding takes: the same for the same finding, wherever it is asked. */
export function findingBytes({ path, match, secret, description }: Finding): number {
  return FINDING_BYTES + path.length + match.length + secret.length + description.length;
}

export function problemBytes({ path, message }: Problem): number {
  return PROBLEM_BYTES + path.length + message.length;
}
