import type { Finding } from '../result.ts';

const SHOWN_MAX = 4;
/** Number of characters of the secret per character shown, so that a short secret reveals less. */
const SHOWN_SHARE = 5;
const MASK = '***';

/** Text beside a secret is often a secret too: runs of letters and digits of at least this length. */
const RUN = /[\w+/=~.-]{16,}/g;
/** A word that may end in a version or a number, or a short number. */
const WORD = /^(?:[A-Za-z]*\d{0,3}|\d{1,8})$/;

/** Returns the beginning of a secret, enough to recognize its kind: `ghp_***`. Does not reveal its length. */
export function redactSecret(secret: string): string {
  const shown = Math.min(SHOWN_MAX, Math.floor(secret.length / SHOWN_SHARE));
  return secret.slice(0, shown).replace(/[\ud800-\udbff]$/, '') + MASK;
}

/**
 * Redacts a finding for reports: only the beginning of the secret remains, in the match, the keys that
 * lead to it and the commit's subject.
 */
export function redactFinding(finding: Finding): Finding {
  const { secret, match, commit, confidence_reason, key_path, key_name } = finding;
  // A path-only rule has no secret: its match is the path.
  if (secret === '') return finding;
  const shown = redactSecret(secret);
  return {
    ...finding,
    secret: shown,
    match: redactMatch(match, secret, shown),
    confidence_reason: redactWithin(confidence_reason, secret, shown),
    ...(key_path === undefined ? {} : { key_path: redactWithin(key_path, secret, shown) }),
    ...(key_name === undefined ? {} : { key_name: redactWithin(key_name, secret, shown) }),
    ...(commit === undefined ? {} : { commit: { ...commit, subject: redactWithin(commit.subject, secret, shown) } }),
  };
}

function redactMatch(match: string, secret: string, shown: string): string {
  // A secret that is not part of its match (because it was decoded) cannot be cut out of it.
  if (!match.includes(secret)) return shown;
  const around = match
    .split(secret)
    .map((text) => text.replaceAll(RUN, (run) => (isToken(run) ? redactSecret(run) : run)));
  return around.join(shown);
}

function redactWithin(text: string, secret: string, shown: string): string {
  return text.split(secret).join(shown);
}

function isToken(run: string): boolean {
  return /\d/.test(run) && /[A-Za-z]/.test(run);
}

/** Finds what looks like a secret in code: paths and names of ordinary words do not. */
export function tokensIn(text: string): { start: number; end: number; shown: string }[] {
  const runs = [...text.matchAll(RUN)].filter(
    ([run]) => isToken(run) && !run.split(/[^A-Za-z0-9]+/).every((part) => WORD.test(part)),
  );
  return runs.map(({ 0: run, index }) => ({ start: index, end: index + run.length, shown: redactSecret(run) }));
}
