import type { CompiledRule } from './rules/compiled-rule.ts';
import type { RegexMatch } from './regex/compiled-regex.ts';

/** A match that passed its rule's own checks, with its position in the object; strings are bytes as latin1. */
export interface Candidate {
  rule: CompiledRule;
  /** Bounds of the match in the searched bytes. */
  start: number;
  end: number;
  match: string;
  secret: string;
  entropy: number;
}

/**
 * Builds a candidate from a match, without surrounding line ends; returns null if its entropy is too low for the rule.
 */
export function candidateOf(rule: CompiledRule, text: string, found: RegexMatch, offset: number): Candidate | null {
  let { start, end } = found;
  while (start < end && isLineEnd(text.charCodeAt(start))) start++;
  while (start < end && isLineEnd(text.charCodeAt(end - 1))) end--;
  const match = text.slice(start, end);
  const secret = secretOf(rule, match, found.groups);
  const entropy = entropyOf(secret);
  if (secret === '' || (rule.rule.entropy > 0 && entropy <= rule.rule.entropy)) return null;
  return { rule, start: offset + start, end: offset + end, match, secret, entropy };
}

function isLineEnd(byte: number): boolean {
  return byte === 0x0a || byte === 0x0d;
}

/** Returns the group that the rule names, or the first non-empty one, or the whole match. */
function secretOf({ rule }: CompiledRule, match: string, groups: RegexMatch['groups']): string {
  if (rule.secret_group > 0) return groups[rule.secret_group - 1] ?? '';
  return groups.find((group) => group !== undefined && group !== '') ?? match;
}

/** Returns the Shannon entropy of the bytes, in bits per byte. */
function entropyOf(text: string): number {
  const counts = new Map<number, number>();
  for (let at = 0; at < text.length; at++) {
    const byte = text.charCodeAt(at);
    counts.set(byte, (counts.get(byte) ?? 0) + 1);
  }
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

/** Decodes latin1 bytes as UTF-8; invalid sequences become replacement characters. */
export function decodeUtf8(bytes: string): string {
  return /[^\x00-\x7f]/.test(bytes) ? Buffer.from(bytes, 'latin1').toString('utf8') : bytes;
}
