import { redactSecret, tokensIn } from '../../report/redact.ts';
import type { Encoding } from '../../result.ts';

const ENCODED: Partial<Record<Encoding, RegExp>> = {
  base64: /[\w+/=-]{24,}/g,
  url: /[^\s"'<>]*%[0-9a-f]{2}[^\s"'<>]*/gi,
};

/** After a name: so that only the value is masked. */
const ASSIGNMENT = /(?<=[=:])(?=[^=])/;

/** Returns a text with all known secrets masked, with everything that was decoded, and with what else looks like one. */
export function maskedText(
  text: string,
  secrets: readonly string[],
  decoded: readonly { encodings: readonly Encoding[] }[],
): string {
  let masked = text;
  const longestFirst = secrets.filter((secret) => secret !== '').toSorted((left, right) => right.length - left.length);
  for (const secret of longestFirst) masked = masked.split(secret).join(redactSecret(secret));
  for (const encoding of new Set(decoded.flatMap(({ encodings }) => encodings))) {
    const pattern = ENCODED[encoding];
    if (pattern !== undefined) masked = masked.replace(pattern, (run) => redactSecret(run));
  }
  return masked.split(ASSIGNMENT).map(withoutTokens).join('');
}

function withoutTokens(text: string): string {
  let masked = text;
  for (const { start, end, shown } of tokensIn(text).toReversed())
    masked = `${masked.slice(0, start)}${shown}${masked.slice(end)}`;
  return masked;
}
