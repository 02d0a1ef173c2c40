/** Names of fields whose values must never leave the process: the whole name, or its last word (`access_token`). */
const SECRET_FIELD =
  /(^|[_-])(authorization|cookie|password|passwd|secret|signature|token|credentials?|(api|access|private|signing|secret|handle|webhook)[_-]?keys?)$/i;

/** The same in camelCase: `webhookSecret`, `signingKeys`. */
const SECRET_CAMEL_FIELD =
  /[a-z](Authorization|Cookie|Password|Secret|Signature|Token|Credentials?|(Api|Access|Private|Signing|Secret)Keys?)$/;

/** Returns whether a field named by this code, as in a log line, holds a secret. */
export function isSecretField(name: string): boolean {
  return SECRET_FIELD.test(name) || SECRET_CAMEL_FIELD.test(name);
}

const SECRET_WORD =
  /^(auth|authorization|authentication|bearer|creds?|hmac|oauth|otp|pass|passphrase|pwd|saml|sid|sig|ticket|.*(cookies?|credentials?|jwts?|keys?|passwd|passwords?|secrets?|sess(ion)?ids?|signatures?|tokens?)|session)$/;

/** Names that contain such a word without holding a secret. */
const PUBLIC_NAMES: ReadonlySet<string> = new Set(['idempotency-key', 'x-idempotency-key']);

/**
 * Returns whether a user-defined header or query parameter may hold a secret: any of its words indicates one
 * (`X-Auth-Key`, `Ocp-Apim-Subscription-Key`, `X-JWT`, `apiKey`), or it is the `code` of Azure Functions and OAuth.
 * Hiding a harmless value costs little.
 */
export function isSecretParameter(name: string): boolean {
  const lower = name.toLowerCase();
  if (PUBLIC_NAMES.has(lower)) return false;
  if (lower === 'code') return true;
  const words = [
    ...lower.split(/[^a-z]+/),
    ...name
      .replace(/([a-z])([A-Z])/g, '$1-$2')
      .toLowerCase()
      .split(/[^a-z]+/),
  ];
  return words.some((word) => SECRET_WORD.test(word));
}
