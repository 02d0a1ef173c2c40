import { isNoSecret } from './judge/shapes.ts';
import type { CompiledRule } from './rules/compiled-rule.ts';
import type { RegexMatch } from './regex/compiled-regex.ts';

/** Why a match is no secret by the checks of its rule: it has none, has the form of something else, or too little entropy. */
export type Refusal = 'empty' | 'form' | 'entropy';

/** A match and its position in the object; strings are bytes as latin1. */
export interface Candidate {
  /** Null if it passed the checks of its rule. */
  refusal: Refusal | null;
  rule: CompiledRule;
  /** Bounds of the match in the searched bytes. */
  start: number;
  end: number;
  match: string;
  secret: string;
  /** Of the secret in the match. */
  secret_at: number;
  /** Not measured if the match was refused before. */
  entropy: number;
}

/** Builds a candidate from a match, without surrounding line ends, and applies the checks of the rule to it. */
export function candidateOf(rule: CompiledRule, text: string, found: RegexMatch, offset: number): Candidate {
  let { start, end } = found;
  while (start < end && isLineEnd(text.charCodeAt(start))) start++;
  while (start < end && isLineEnd(text.charCodeAt(end - 1))) end--;
  const match = text.slice(start, end);
  const secret = secretOf(rule, match, found.groups);
  const formRefusal = formRefusalOf(rule, secret);
  const entropy = formRefusal === null ? entropyOf(secret) : 0;
  const isTooPlain = formRefusal === null && rule.rule.entropy > 0 && entropy <= rule.rule.entropy;
  const refusal = isTooPlain ? 'entropy' : formRefusal;
  const secret_at = Math.max(0, match.lastIndexOf(secret));
  return { refusal, rule, start: offset + start, end: offset + end, match, secret, secret_at, entropy };
}

function formRefusalOf({ rule }: CompiledRule, secret: string): Refusal | null {
  if (secret === '') return 'empty';
  return rule.judged && isNoSecret(secret) ? 'form' : null;
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
