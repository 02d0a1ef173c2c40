import { counted } from './figures.ts';

/** Secrets are distinguished up to this number, which bounds the memory. */
const SECRETS_COUNTED_MAX = 100_000;

/** Digits of an identity that are compared; a collision among the secrets of a scan is as likely as one in 50,000. */
const DIGITS = 12;

/** Counts the secrets of a scan, however often each occurs. */
export class SecretCount {
  readonly #seen = new Set<number>();

  add(secretId: string): void {
    if (this.#seen.size < SECRETS_COUNTED_MAX) this.#seen.add(Number.parseInt(secretId.slice(0, DIGITS), 16));
  }

  get value(): number {
    return this.#seen.size;
  }
}

/** Formats `3 secrets`, or `3 secrets in 12 places` if some have several. */
export function secretsInPlaces({ secrets, reported }: { secrets: number; reported: number }, noun = 'secret'): string {
  if (secrets === reported) return counted(secrets, noun);
  const atLeast = secrets === SECRETS_COUNTED_MAX ? 'at least ' : '';
  return `${atLeast}${counted(secrets, noun)} in ${counted(reported, 'place')}`;
}
