import { withChecksum } from '@heddle/test-support/scan/with-checksum';
import type { PseudoRandom } from './pseudo-random.ts';

const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const LOWER = UPPER.toLowerCase();
const DIGITS = '0123456789';
const WORD = UPPER + LOWER + DIGITS;
const BASE64_URL = `${WORD}_-`;

/** Made up in the public formats of well-known providers, one for each of the seven simple rules. */
const FORMATS: Readonly<Record<string, (random: PseudoRandom) => string>> = {
  'github-personal-access-token': (random) =>
    withChecksum('crc32-base62', ['gh', 'p_', random.text(WORD, 36)].join('')),
  'gitlab-personal-access-token': (random) =>
    ['gl', 'pat-', random.text(BASE64_URL, 19), random.text(WORD, 1)].join(''),
  'aws-access-key-id': (random) => ['AK', 'IA', random.text(`${UPPER}234567`, 16)].join(''),
  'gcp-api-key': (random) => ['AI', 'za', random.text(BASE64_URL, 34), random.text(WORD, 1)].join(''),
  'npm-access-token': (random) => withChecksum('crc32-base62', ['np', 'm_', random.text(WORD, 36)].join('')),
  'digitalocean-token': (random) => ['do', 'p_v1_', random.text(`${DIGITS}abcdef`, 64)].join(''),
  'buildkite-token': (random) => ['bk', 'ua_', random.text(WORD, 40)].join(''),
};

export interface MadeSecret {
  rule_id: string;
  secret: string;
}

const ENTROPY_MIN = 3.6;

/** Secrets of all formats in turn, without duplicates, each random enough for any rule. */
export function* makeSecrets(random: PseudoRandom): Generator<MadeSecret, never> {
  const made = new Set<string>();
  for (;;) {
    for (const [rule_id, make] of Object.entries(FORMATS)) {
      let secret = make(random);
      while (made.has(secret) || entropyOf(secret) < ENTROPY_MIN) secret = make(random);
      made.add(secret);
      yield { rule_id, secret };
    }
  }
}

/** Shannon entropy, bits per character. */
function entropyOf(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  return [...counts.values()].reduce((sum, count) => sum - (count / text.length) * Math.log2(count / text.length), 0);
}

const LINES: readonly ((secret: string) => string)[] = [
  (secret) => `const client = connect("${secret}");`,
  (secret) => `export SERVICE_CREDENTIAL='${secret}'`,
  (secret) => `  credential: ${secret}`,
  (secret) => `curl --header "X-Credential: ${secret}" https://api.example.net/v1/items`,
  (secret) => `# left from the trial: ${secret}`,
  (secret) => `{"name":"worker","value":"${secret}"}`,
];

/** A line of source code with a secret in it, without its newline. */
export function lineWith(secret: string, random: PseudoRandom): string {
  return random.pick(LINES)(secret);
}
