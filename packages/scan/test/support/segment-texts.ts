import { seededRandom } from '@heddle/base/random';

export const SEGMENT_BYTES = 64 * 1024;
export const SEGMENTS = 40;

const PEM = [
  '-----BEGIN RSA PRIVATE KEY-----',
  ...Array.from({ length: 24 }, (_, at) =>
    `${'MIIEpAIBAAKCAQEA7bq3xYk2Pz9RtLq8WvN4sDfGhJ'.slice(at)}${'QmZ8aXc5'.repeat(8)}`.slice(0, 64),
  ),
  '-----END RSA PRIVATE KEY-----',
].join('\n');

/** Secrets at and near each boundary of a segment: of one line, of many lines, encoded, and of equal lines. */
export function textWithSecrets(seed: number, segments = SEGMENTS): string {
  const random = seededRandom(seed);
  const digits = (count: number): string => String(Math.floor(random.next() * 10 ** count)).padStart(count, '0');
  const secrets = [
    () => `MADEUP-${digits(6)}`,
    () => `\npassword = "xK9${digits(5)}mQzR"\n`,
    () => `\n${PEM}\n`,
    () => Buffer.from(`text before MADEUP-${digits(6)} and text after`.repeat(40)).toString('base64'),
    () => `%20MADEUP%2D${digits(6)}%20`,
    () => 'MADEUP-777777 '.repeat(200),
  ];
  let text = '';
  for (let boundary = SEGMENT_BYTES; boundary <= SEGMENT_BYTES * segments; boundary += SEGMENT_BYTES) {
    const secret = secrets[Math.floor(random.next() * secrets.length)]!();
    const start = boundary - Math.floor(random.next() * (secret.length + 20));
    // Some segments consist of one line.
    const line = random.next() < 0.2 ? 'no line ends here, ' : 'const value = compute(argument, other);\n';
    text += line.repeat(Math.ceil((start - text.length) / line.length)).slice(0, Math.max(0, start - text.length));
    text += secret;
  }
  return text;
}
