import type { DetectedFinding, Problem } from './result.ts';

/** A JavaScript object with the fields of a finding or problem, and short strings. */
const FINDING_BYTES = 512;
const PROBLEM_BYTES = 128;
const CONTEXT_LINE_BYTES = 96;

/** Estimates the memory of a finding: the same value for the same finding in every thread. */
export function findingBytes(finding: DetectedFinding): number {
  const {
    path,
    match,
    secret,
    description,
    confidence_reason,
    key_path = '',
    key_name = '',
    context = [],
    companions = {},
  } = finding;
  const texts = [path, match, secret, description, confidence_reason, key_path, key_name, ...Object.values(companions)];
  const contextBytes = context.reduce((sum, { text }) => sum + CONTEXT_LINE_BYTES + text.length, 0);
  return FINDING_BYTES + texts.reduce((sum, { length }) => sum + length, 0) + contextBytes;
}

export function problemBytes({ path, message }: Problem): number {
  return PROBLEM_BYTES + path.length + message.length;
}
