import { parseNetwork } from '@heddle/base/net/network';
import { parseSqsAddress } from '@heddle/core/queue/sqs-address';
import { levelFromRustLog, type LogLevel } from '@heddle/base/log';
import { parseWebhookSecret } from '@heddle/base/signing';
import { databaseAddresses } from '@heddle/core/store/addresses';
import { parseS3Address } from './artifacts/s3-address.ts';
import { itemsOf, list, REDACTED, setting, type Declaration, type Setting } from '@heddle/base/setting';

export * from '@heddle/base/setting';

/** Address of the queues: `postgres` or an SQS address. */
export function queueUrl(declaration: Declaration<string>): Setting<string> {
  return setting(declaration, {
    allowed: '`postgres`, or `sqs://REGION/ACCOUNT/PREFIX`',
    parse: (given) => {
      try {
        if (given !== 'postgres') parseSqsAddress(given);
        return { value: given };
      } catch {
        return null;
      }
    },
    show: (value) => value,
  });
}

/** Address of a bucket; empty: none. */
export function bucketAddress(declaration: Declaration<string>): Setting<string> {
  return setting(declaration, {
    allowed: '`s3://BUCKET/PREFIX?region=REGION&endpoint=URL` (prefix, region and endpoint are optional)',
    parse: (given) => {
      try {
        parseS3Address(given);
        return { value: given };
      } catch {
        return null;
      }
    },
    show: (value) => value,
  });
}

/** A URL whose scheme is one of `schemes`; null if none is set. */
export function address(
  declaration: Declaration<string | null> & { schemes: readonly string[] },
): Setting<string | null> {
  const { schemes } = declaration;
  return setting(declaration, {
    allowed: `a URL that starts with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`,
    parse: (given) => {
      const isAllowed = (url: string): boolean => schemes.includes(URL.parse(url)?.protocol.replace(/:$/, '') ?? '');
      return databaseAddresses(given).every(isAllowed) ? { value: given } : null;
    },
    show: (value) => (value === null ? '' : withoutPassword(value)),
  });
}

/** Returns the URL with its password replaced, in the authority and among the parameters. */
export function withoutPassword(url: string): string {
  const addresses = databaseAddresses(url);
  if (addresses.length > 1) return addresses.map(withoutPassword).join(', ');
  const parsed = URL.parse(url);
  if (parsed === null) return REDACTED;
  if (parsed.password !== '') parsed.password = 'redacted';
  for (const name of [...parsed.searchParams.keys()]) {
    if (/pass|secret|token|key/i.test(name)) parsed.searchParams.set(name, 'redacted');
  }
  return parsed.href;
}

/** A value of `RUST_LOG`: a level, or directives of which the one for this service applies. */
export function logLevel(declaration: Declaration<LogLevel>): Setting<LogLevel> {
  return setting(declaration, {
    allowed: 'a level (error, warn, info, debug, off) or directives such as task_runner=debug',
    parse: (given) => (/[a-z]/i.test(given) ? { value: levelFromRustLog(given) } : null),
    show: (value) => (value === 'silent' ? 'off' : value),
  });
}

export function cidrList(declaration: Declaration<readonly string[]>): Setting<readonly string[]> {
  return list({
    ...declaration,
    allowed: 'a comma-separated list of IP addresses or ranges such as 10.1.0.0/16',
    item: (given) => (parseNetwork(given) === null ? null : given),
  });
}

/** Signing keys as strings, the one to sign with first. */
export function signingKeys(declaration: Declaration<readonly Uint8Array[]>): Setting<readonly Uint8Array[]> {
  return setting(declaration, {
    secret: true,
    allowed: 'a comma-separated list of keys, each whsec_ followed by the base64 of 24 to 64 bytes',
    parse: (given) => {
      const keys = itemsOf(given).map(parseWebhookSecret);
      return keys.includes(null) ? null : { value: keys as Uint8Array[] };
    },
    show: (keys) => keys.map(() => REDACTED).join(','),
  });
}
