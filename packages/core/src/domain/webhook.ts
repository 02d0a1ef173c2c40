import { secretNameOf } from '@heddle/base/vocabulary/secret-reference';

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Headers of the connection, which messages may not set. */
const CONNECTION_HEADERS = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Returns the fault of a webhook address, before it is resolved; null if it is valid. */
export function webhookUrlFault(url: string): string | null {
  const parsed = URL.parse(url);
  if (parsed === null) return 'must be an absolute URL, such as https://example.com/hook';
  if (parsed.protocol !== 'https:' && parsed.protocol !== 'http:') return 'must start with http:// or https://';
  if (parsed.username !== '' || parsed.password !== '') {
    return 'must not carry a user or password; send an Authorization header';
  }
  return null;
}

/** Yields the faults of a webhook's headers, by name. */
export function* webhookHeaderFaults(
  headers: Readonly<Record<string, unknown>>,
): Generator<[name: string, fault: string]> {
  const seen = new Set<string>();
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (!HEADER_NAME.test(name) || name.length > 255) yield [name, 'is not a valid header name'];
    else if (CONNECTION_HEADERS.has(lower)) yield [name, 'is set by the connection; leave it out'];
    else if (seen.has(lower)) yield [name, 'is given more than once (header names are case-insensitive); keep one'];
    else if (secretNameOf(value) === null && (typeof value !== 'string' || !HEADER_VALUE.test(value))) {
      yield [name, 'must be a string of printable Latin-1 characters without line breaks, or name a secret'];
    }
    seen.add(lower);
  }
}
