import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Returns the URL with which a webhook target reports on one attempt of a task without a token:
 * `${hostUrl}/task/${taskId}?attempt=${attempt}&signature=…`.
 *
 * @param hostUrl the public base URL, with or without a trailing slash
 */
export function handleUrl(hostUrl: string, taskId: string, attempt: number, key: Uint8Array): string {
  const signature = handleMac(taskId, attempt, key).toString('base64url');
  return `${hostUrl.replace(/\/+$/, '')}/task/${taskId}?attempt=${attempt}&signature=${signature}`;
}

/** Returns in constant time whether `signature` was made with one of the keys, a key being rotated out included. */
export function verifyHandle(taskId: string, attempt: number, signature: string, keys: readonly Uint8Array[]): boolean {
  return isOneOf(
    signature,
    keys.map((key) => handleMac(taskId, attempt, key)),
  );
}

function handleMac(taskId: string, attempt: number, key: Uint8Array): Buffer {
  return createHmac('sha256', key).update(`handle:v1:${taskId}:${attempt}`).digest();
}

/**
 * Returns the headers of the Standard Webhooks specification: one signature of `id.timestamp.body` per active key, so
 * that receivers may rotate keys at their own pace.
 *
 * @param body exact string that is sent
 */
export function standardWebhookHeaders(
  id: string,
  timestampSecs: number,
  body: string,
  keys: readonly Uint8Array[],
): Record<string, string> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampSecs),
    'webhook-signature': keys
      .map((key) => `v1,${webhookMac(id, timestampSecs, body, key).toString('base64')}`)
      .join(' '),
  };
}

/** Verifies as a receiver: true if one signature matches one key and the time is within the tolerance of `nowSecs`. */
export function verifyStandardWebhook(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  body: string,
  keys: readonly Uint8Array[],
  nowSecs: number,
  toleranceSecs = 300,
): boolean {
  const id = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  const signatures = headers['webhook-signature'];
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') return false;
  if (!/^\d{1,15}$/.test(timestamp) || Math.abs(nowSecs - Number(timestamp)) > toleranceSecs) return false;
  const expected = keys.map((key) => webhookMac(id, timestamp, body, key));
  let valid = false;
  for (const entry of signatures.split(' ')) {
    if (entry.startsWith('v1,') && isOneOf(entry.slice('v1,'.length), expected, 'base64')) valid = true;
  }
  return valid;
}

function webhookMac(id: string, timestampSecs: number | string, body: string, key: Uint8Array): Buffer {
  return createHmac('sha256', key).update(`${id}.${timestampSecs}.${body}`).digest();
}

const WEBHOOK_SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;

/** Formats a signing key as receivers get it: `whsec_` and base64. */
export function webhookSecretText(key: Uint8Array): string {
  return `whsec_${Buffer.from(key).toString('base64')}`;
}

/** Parses a `whsec_` string; null if it is invalid, or its key is not 24 to 64 bytes. */
export function parseWebhookSecret(text: string): Uint8Array | null {
  const encoded = WEBHOOK_SECRET.exec(text)?.[1];
  if (encoded === undefined) return null;
  const key = Buffer.from(encoded, 'base64');
  return key.length >= 24 && key.length <= 64 ? key : null;
}

/** @param expires seconds since the epoch */
export function artifactSignature(id: string, expires: number, key: Uint8Array): string {
  return artifactMac(id, expires, key).toString('base64url');
}

/** Returns in constant time whether the signature was made with one of the keys. */
export function verifyArtifactSignature(
  id: string,
  expires: number,
  signature: string,
  keys: readonly Uint8Array[],
): boolean {
  return isOneOf(
    signature,
    keys.map((key) => artifactMac(id, expires, key)),
  );
}

function artifactMac(id: string, expires: number, key: Uint8Array): Buffer {
  return createHmac('sha256', key).update(`artifact:v1:${id}:${expires}`).digest();
}

/** Signature of the credential of a runner. */
export function runnerSignature(id: string, key: Uint8Array): string {
  return runnerMac(id, key).toString('base64url');
}

/** Returns in constant time whether the signature was made with one of the keys. */
export function verifyRunnerSignature(id: string, signature: string, keys: readonly Uint8Array[]): boolean {
  return isOneOf(
    signature,
    keys.map((key) => runnerMac(id, key)),
  );
}

function runnerMac(id: string, key: Uint8Array): Buffer {
  return createHmac('sha256', key).update(`runner:v1:${id}`).digest();
}

/** Compares texts, because many texts decode to the same bytes, and only the one that was handed out is valid. */
function isOneOf(signature: string, macs: readonly Buffer[], encoding: 'base64' | 'base64url' = 'base64url'): boolean {
  const given = Buffer.from(signature);
  const texts = macs.map((mac) => Buffer.from(mac.toString(encoding)));
  return texts.map((text) => given.length === text.length && timingSafeEqual(given, text)).includes(true);
}

/** Signature of the text of a login that is under way. */
export function loginSignature(text: string, key: Uint8Array): string {
  return loginMac(text, key).toString('base64url');
}

/** Returns in constant time whether the signature was made with one of the keys. */
export function verifyLoginSignature(text: string, signature: string, keys: readonly Uint8Array[]): boolean {
  return isOneOf(
    signature,
    keys.map((key) => loginMac(text, key)),
  );
}

function loginMac(text: string, key: Uint8Array): Buffer {
  return createHmac('sha256', key).update(`login:v1:${text}`).digest();
}
