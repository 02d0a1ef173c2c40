import type { CompiledRegex, RegexMatch } from './regex/compiled-regex.ts';
import { type Candidate, decodeUtf8 } from './matches.ts';

/** A value that a verification needs besides the secret, ready to search. */
export interface CompiledCompanion {
  name: string;
  of: 'nearby' | 'match' | 'secret';
  regex: CompiledRegex;
}

/** Matches in the text around a secret that are compared. */
const NEARBY_MATCHES_MAX = 100;

/**
 * Finds the companions of a secret; those that are not found are absent.
 *
 * @param text the match with the text around it, as latin1
 * @param at where the secret begins in the text
 */
export function companionsOf(
  { rule, match, secret }: Candidate,
  text: string,
  at: number,
): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const { name, of, regex } of rule.companions()) {
    const value =
      of === 'nearby'
        ? nearest(regex, text, { start: at, end: at + secret.length })
        : valueOf(regex.search(of === 'match' ? match : secret), of === 'match' ? match : secret);
    if (value !== null) found[name] = decodeUtf8(value);
  }
  return found;
}

/** Returns the value that is nearest to the secret without overlapping it. */
function nearest(regex: CompiledRegex, text: string, secret: { start: number; end: number }): string | null {
  let best: string | null = null;
  let bestDistance = Infinity;
  let from = 0;
  for (let count = 0; count < NEARBY_MATCHES_MAX; count++) {
    const match = regex.search(text, from);
    if (match === null) break;
    from = Math.max(match.end, match.start + 1);
    const distance = match.end <= secret.start ? secret.start - match.end : match.start - secret.end;
    if (distance < 0 || distance >= bestDistance) continue;
    best = valueOf(match, text);
    bestDistance = distance;
  }
  return best;
}

function valueOf(match: RegexMatch | null, text: string): string | null {
  if (match === null) return null;
  return match.groups.find((group) => group !== undefined && group !== '') ?? text.slice(match.start, match.end);
}
