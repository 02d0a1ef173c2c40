import type { JsonValue } from './json.ts';

const REDACTED = '***';
/** Shorter forms would occur by chance. */
const FORM_CHARS_MIN = 4;
const SHIFTED_CHARS_MIN = 8;
/** The value of a header; its receiver may report the credentials without the scheme. */
const WITH_SCHEME = /^(?:bearer|basic|token|apikey)\s+(\S+)$/i;

/** Replaces secrets in texts, also where they are in base64, URL-encoded or quoted as JSON. */
export class Redactor {
  readonly #pattern: RegExp | null;
  readonly #replacement: string;

  /**
   * @param secrets of several lines: each line is replaced by itself, since logs are read line by line; those with the
   *   scheme of an `Authorization` header: so are the credentials behind it
   */
  constructor(secrets: Iterable<string>, replacement = REDACTED) {
    this.#replacement = replacement;
    const forms = new Set<string>();
    for (const secret of secrets) {
      for (const form of formsOf(secret)) forms.add(form);
      for (const form of formsOf(WITH_SCHEME.exec(secret)?.[1] ?? '')) forms.add(form);
      for (const line of secret.split(/\r?\n/)) for (const form of formsOf(line.trim())) forms.add(form);
    }
    // The longest first: a secret may contain another.
    const sorted = [...forms].toSorted((one, other) => other.length - one.length);
    this.#pattern = sorted.length === 0 ? null : new RegExp(sorted.map(escaped).join('|'), 'g');
  }

  text(text: string): string {
    return this.#pattern === null ? text : text.replace(this.#pattern, () => this.#replacement);
  }

  /** Returns a copy without the secrets, also in names of members. */
  json(value: JsonValue): JsonValue {
    if (typeof value === 'string') return this.text(value);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((each) => this.json(each));
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [this.text(name), this.json(each)]));
  }
}

function formsOf(secret: string): string[] {
  if (secret.length < FORM_CHARS_MIN) return [];
  const encoded = encodeURIComponent(secret.toWellFormed());
  const forms = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encoded,
    encoded.replaceAll('%20', '+'),
    encoded.replaceAll(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase()),
    ...base64Forms(secret),
  ];
  return forms.filter((form) => form.length >= FORM_CHARS_MIN);
}

/**
 * Base64 of a text that contains the secret has one of three forms of it, by its position; characters that also encode
 * its neighbors are left out.
 */
function base64Forms(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [0, 1, 2].flatMap((shift) => {
    const bits = 8 * (shift + bytes.length);
    const first = Math.ceil((8 * shift) / 6);
    const inner = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .slice(first, Math.floor(bits / 6));
    if (inner.length < SHIFTED_CHARS_MIN) return [];
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}
