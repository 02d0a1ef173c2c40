import type { Finding } from '../result.ts';

const SHOWN_MAX = 4;
/** One character is shown for so many: a short secret shows less of itself. */
const SHOWN_SHARE = 5;
const MASK = '***';

/** Long runs of letters with digits: what stands beside a secret in its match is often one, too. */
const TOKEN = /(?=[\w+/=~.-]*\d)(?=[\w+/=~.-]*[A-Za-z])[\w+/=~.-]{16,}/g;

/** The beginning of a secret, enough to recognize its kind: `ghp_***`. Says nothing of its length. */
export function redactSecret(secret: string): string {
  const shown = Math.min(SHOWN_MAX, Math.floor(secret.length / SHOWN_SHARE));
  return secret.slice(0, shown).replace(/[\ud800-\udbff]$/, '') + MASK;
}

/** The finding as reports show it: nothing of the secret but its beginning, neither in the match nor in the commit's subject. */
export function redactFinding(finding: Finding): Finding {
  const { secret, match, commit } = finding;
  // A rule about paths alone has no secret: its match is the path.
  if (secret === '') return finding;
  const shown = redactSecret(secret);
  return {
    ...finding,
    secret: shown,
    match: redactMatch(match, secret, shown),
    ...(commit === undefined ? {} : { commit: { ...commit, subject: redactWithin(commit.subject, secret, shown) } }),
  };
}

function redactMatch(match: string, secret: string, shown: string): string {
  // A secret that does not stand in its match (it was decoded, say) cannot be cut out of it.
  if (!match.includes(secret)) return shown;
  const around = match.split(secret).map((text) => text.replaceAll(TOKEN, (token) => redactSecret(token)));
  return around.join(shown);
}

function redactWithin(text: string, secret: string, shown: string): string {
  return text.split(secret).join(shown);
}
