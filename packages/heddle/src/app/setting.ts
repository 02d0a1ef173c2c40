import { parseCidr } from '../dispatch/address-ranges.ts';
import { parseSqsAddress } from '@heddle/core/queue/sqs-address';
import { levelFromRustLog, type LogLevel } from '@heddle/base/log';
import { parseWebhookSecret } from '@heddle/base/signing';
import { databaseAddresses } from '@heddle/core/store/addresses';

/** One setting, declared once: parsing, error messages, `heddle config` and the documentation derive from it. */
export interface Setting<T> {
  /** The environment variable, which is also the name in the configuration file. */
  readonly name: string;
  /** Older names that are still accepted. */
  readonly aliases: readonly string[];
  readonly description: string;
  readonly fallback: T;
  /** The default as the documentation shows it. */
  readonly fallbackText: string;
  /** What is allowed, as the end of a sentence: `must be …`. */
  readonly allowed: string;
  readonly secret: boolean;
  /** Returns null if the string is not allowed. */
  parse(text: string): { value: T } | null;
  /** The value for display, without secrets. */
  show(value: T): string;
}

interface Declaration<T> {
  name: string;
  aliases?: readonly string[];
  fallback: T;
  fallbackText?: string;
  description: string;
}

const REDACTED = '[redacted]';

function setting<T>(
  declaration: Declaration<T>,
  kind: Pick<Setting<T>, 'allowed' | 'parse' | 'show'> & { secret?: boolean },
): Setting<T> {
  const { name, aliases = [], description, fallback } = declaration;
  const fallbackText = declaration.fallbackText ?? kind.show(fallback);
  return { name, aliases, description, fallback, fallbackText, secret: false, ...kind };
}

export function integer(declaration: Declaration<number> & { min: number; max: number }): Setting<number> {
  const { min, max } = declaration;
  return setting(declaration, {
    allowed: `a whole number between ${min} and ${max}`,
    parse: (text) => {
      const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
      return value >= min && value <= max ? { value } : null;
    },
    show: (value) => String(value),
  });
}

/** A duration given in seconds, fractions allowed; the value is milliseconds. */
export function seconds(declaration: Declaration<number> & { min: number; max: number }): Setting<number> {
  const { min, max } = declaration;
  return setting(declaration, {
    allowed: `a number of seconds between ${min / 1_000} and ${max / 1_000}, such as 5 or 0.5`,
    parse: (text) => {
      const value = /^\d{1,12}(\.\d{1,3})?$/.test(text) ? Math.round(Number(text) * 1_000) : Number.NaN;
      return value >= min && value <= max ? { value } : null;
    },
    show: (value) => String(value / 1_000),
  });
}

/** A ratio between 0 and 1. */
export function ratio(declaration: Declaration<number>): Setting<number> {
  return setting(declaration, {
    allowed: 'a number between 0.0 and 1.0',
    parse: (text) => {
      const value = /^(\d+(\.\d*)?|\.\d+)$/.test(text) ? Number(text) : Number.NaN;
      return value >= 0 && value <= 1 ? { value } : null;
    },
    show: (value) => (Number.isInteger(value) ? value.toFixed(1) : String(value)),
  });
}

const SWITCH_WORDS: Readonly<Record<string, boolean>> = {
  '1': true,
  true: true,
  on: true,
  yes: true,
  '0': false,
  false: false,
  off: false,
  no: false,
};

export function onOff(declaration: Declaration<boolean>): Setting<boolean> {
  return setting(declaration, {
    allowed: '1 or 0 (or true, false, on, off)',
    parse: (text) => {
      const value = SWITCH_WORDS[text.toLowerCase()];
      return value === undefined ? null : { value };
    },
    show: (value) => (value ? '1' : '0'),
  });
}

/** One of a few words. */
export function choice<Word extends string>(
  declaration: Declaration<Word> & { words: readonly Word[] },
): Setting<Word> {
  const { words } = declaration;
  return setting(declaration, {
    allowed: `one of ${words.join(', ')}`,
    parse: (text) => {
      const value = words.find((word) => word === text.toLowerCase());
      return value === undefined ? null : { value };
    },
    show: (value) => value,
  });
}

export function text(declaration: Declaration<string>): Setting<string> {
  return setting(declaration, { allowed: 'a string', parse: (given) => ({ value: given }), show: (value) => value });
}

/** A string of a certain form; empty if none is set. */
export function checkedText(
  declaration: Declaration<string> & {
    allowed: string;
    check: (given: string) => boolean;
    show?: (value: string) => string;
    /** Hidden from faults and listings. */
    secret?: boolean;
  },
): Setting<string> {
  const { allowed, check, secret = false } = declaration;
  const { show = (value: string) => (secret ? REDACTED : value) } = declaration;
  return setting(declaration, {
    allowed,
    secret,
    parse: (given) => (check(given) ? { value: given } : null),
    show: (value) => (value === '' ? '' : show(value)),
  });
}

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

interface ListOptions {
  /** Returns the item as it is stored; null if it is not allowed. */
  item?: (text: string) => string | null;
  allowed?: string;
  /** Hides the items from faults and listings. */
  secret?: boolean;
}

/** A comma-separated list. */
export function list(declaration: Declaration<readonly string[]> & ListOptions): Setting<readonly string[]> {
  const { item = (given: string) => given, allowed = 'a comma-separated list', secret = false } = declaration;
  return setting(declaration, {
    allowed,
    secret,
    parse: (given) => {
      const items = itemsOf(given).map(item);
      return items.includes(null) ? null : { value: items as string[] };
    },
    show: (value) => (secret ? value.map(() => REDACTED) : value).join(','),
  });
}

function itemsOf(given: string): string[] {
  return given
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}

export function cidrList(declaration: Declaration<readonly string[]>): Setting<readonly string[]> {
  return list({
    ...declaration,
    allowed: 'a comma-separated list of IP addresses or ranges such as 10.1.0.0/16',
    item: (given) => (parseCidr(given) === null ? null : given),
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
