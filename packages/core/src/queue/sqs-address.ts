import { createHash } from 'node:crypto';

/** Address of the queues: `sqs://REGION/ACCOUNT/PREFIX?endpoint=http://…&fifo=1&create=1`. */
export interface SqsAddress {
  region: string;
  account: string;
  /** Prefix of all queue names, followed by a hyphen. */
  prefix: string;
  /** Another service with the same protocol; null: Amazon's in the region. */
  endpoint: string | null;
  /** Uses FIFO queues. */
  fifo: boolean;
  /** Creates missing queues, with a dead-letter queue. */
  create: boolean;
}

/** Maximum length of a name at SQS, `.fifo` included. */
const NAME_CHARACTERS_MAX = 80;
const PREFIX = /^[A-Za-z0-9_-]{1,32}$/;
const OPTIONS = ['endpoint', 'fifo', 'create'];

/**
 * Parses the address of the queues.
 *
 * @throws Error naming the invalid part
 */
export function parseSqsAddress(text: string): SqsAddress {
  const url = URL.parse(text);
  if (url?.protocol !== 'sqs:') throw new Error('must begin with sqs://');
  const [account = '', prefix = '', ...rest] = url.pathname.slice(1).split('/');
  if (!/^[a-z0-9-]+$/.test(url.hostname)) throw new Error('must name a region: sqs://REGION/ACCOUNT/PREFIX');
  if (!/^\d{12}$/.test(account)) throw new Error('must name an account of 12 digits: sqs://REGION/ACCOUNT/PREFIX');
  if (!PREFIX.test(prefix) || rest.length > 0) {
    throw new Error(
      'must name a prefix of 1 to 32 letters, digits, hyphens and underscores: sqs://REGION/ACCOUNT/PREFIX',
    );
  }
  for (const option of url.searchParams.keys()) {
    if (!OPTIONS.includes(option)) throw new Error(`has an unknown option "${option}"; known: ${OPTIONS.join(', ')}`);
  }
  const endpoint = url.searchParams.get('endpoint');
  if (endpoint !== null && !/^https?:$/.test(URL.parse(endpoint)?.protocol ?? '')) {
    throw new Error('has an endpoint that is not an http or https URL');
  }
  return {
    region: url.hostname,
    account,
    prefix,
    endpoint,
    fifo: flag(url.searchParams, 'fifo'),
    create: flag(url.searchParams, 'create'),
  };
}

function flag(options: URLSearchParams, name: string): boolean {
  const value = options.get(name) ?? '0';
  if (value !== '0' && value !== '1') throw new Error(`has ${name}=${value}; it takes 0 or 1`);
  return value === '1';
}

/**
 * Returns the name at SQS, which allows letters, digits, hyphens and underscores: a colon becomes a hyphen, any other
 * character its bytes as `_2d`, so that different queues never share a name. Names that are too long end in a hash.
 */
export function sqsNameOf({ prefix, fifo }: SqsAddress, queue: string): string {
  const escaped = queue.replaceAll(/[^A-Za-z0-9:]/gu, escapeBytes).replaceAll(':', '-');
  // Reserved for the dead letters of all queues.
  return fitted(prefix, escaped === 'dead' ? `_64ead` : escaped, fifo);
}

/** Queue for the dead letters of all queues. */
export function sqsDeadNameOf({ prefix, fifo }: SqsAddress): string {
  return fitted(prefix, 'dead', fifo);
}

function fitted(prefix: string, escaped: string, fifo: boolean): string {
  const suffix = fifo ? '.fifo' : '';
  const name = `${prefix}-${escaped}`;
  if (name.length + suffix.length <= NAME_CHARACTERS_MAX) return name + suffix;
  const hash = `_h${createHash('sha256').update(escaped).digest('hex').slice(0, 16)}`;
  return name.slice(0, NAME_CHARACTERS_MAX - suffix.length - hash.length) + hash + suffix;
}

function escapeBytes(character: string): string {
  return [...Buffer.from(character)].map((byte) => `_${byte.toString(16).padStart(2, '0')}`).join('');
}
