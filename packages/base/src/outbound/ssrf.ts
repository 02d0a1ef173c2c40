import { isIP } from 'node:net';
import { bareHost, parseZonedAddress } from '../net/address.ts';
import { type AddressClass, classifyAddress } from '../net/classify.ts';
import { type AddressRange, contains, parseNetwork } from '../net/network.ts';

/** Which addresses may be called. Host names are compared without case and without a trailing dot. */
export interface SsrfPolicy {
  /** Checks nothing at all (`SKIP_SSRF_VALIDATION=1`). */
  skipAll: boolean;
  /** Allows 127.0.0.0/8, `::1` and `localhost`: for development on one machine. */
  allowLoopback: boolean;
  blockedHostnames: readonly string[];
  /** Each with its leading dot. */
  blockedSuffixes: readonly string[];
  /** Names (or `.suffix`) that may also resolve to private and loopback addresses. */
  allowedHosts: readonly string[];
  /** Ranges or addresses that may be called whatever their class. */
  allowedCidrs: readonly string[];
  /** How refusals name the requests and the remedy; by default those of webhooks. */
  words?: SsrfWords;
}

export interface SsrfWords {
  /** Who may not call an address: `webhooks`. */
  callers: string;
  /** The list that names blocked hosts. */
  blockList: string;
  /** What an operator may do. */
  remedy: string;
}

export const DEFAULT_BLOCKED_HOSTNAMES: readonly string[] = [
  'localhost',
  '127.0.0.1',
  '::1',
  '0.0.0.0',
  'local',
  'internal',
];
export const DEFAULT_BLOCKED_SUFFIXES: readonly string[] = ['.local', '.internal', '.localdomain', '.localhost'];

export const STRICT_SSRF_POLICY: SsrfPolicy = {
  skipAll: false,
  allowLoopback: false,
  blockedHostnames: DEFAULT_BLOCKED_HOSTNAMES,
  blockedSuffixes: DEFAULT_BLOCKED_SUFFIXES,
  allowedHosts: [],
  allowedCidrs: [],
};

/**
 * A request that may not be sent; the message names the host and the rule, never the address that a name resolved to.
 */
export class SsrfRefusal extends Error {
  readonly code = 'SSRF_REFUSED';

  constructor(message: string) {
    super(message);
    this.name = 'SsrfRefusal';
  }
}

/** Maximum length of a URL, characters. */
const URL_LENGTH_MAX = 8192;

const CLASS_IN_WORDS: Readonly<Record<Exclude<AddressClass, 'public'>, string>> = {
  loopback: 'a loopback address',
  private: 'a private address',
  link_local: 'a link-local address',
  metadata: 'the address of a cloud metadata service',
  multicast: 'a multicast address',
  unspecified: 'the unspecified address',
  broadcast: 'the broadcast address',
  carrier_grade_nat: 'a carrier-grade NAT address',
  embedded_ipv4: 'an IPv6 address that wraps an IPv4 address',
  reserved: 'a reserved address',
  malformed: 'not an IP address',
};

/**
 * Classes that an allowed host may resolve to; metadata and link-local stay blocked, so that a hijacked name gains
 * nothing.
 */
const OPEN_TO_ALLOWED_HOSTS: ReadonlySet<AddressClass> = new Set(['loopback', 'private', 'carrier_grade_nat']);

const WEBHOOK_WORDS: SsrfWords = {
  callers: 'webhooks',
  blockList: 'the list of blocked host names (BLOCKED_HOSTNAMES)',
  remedy: 'an operator can allow it with HEDDLE_ALLOWED_WEBHOOK_HOSTS or HEDDLE_ALLOWED_WEBHOOK_CIDRS',
};

/** The host in the form that lists compare: lower case, no brackets, no trailing dot. */
function normaliseHost(host: string): string {
  return bareHost(host).replace(/\.+$/, '');
}

/** A policy, parsed once, that decides on URLs, host names and addresses. Throws for an invalid range. */
export class SsrfGuard {
  readonly policy: SsrfPolicy;
  readonly #words: SsrfWords;
  readonly #blockedHosts: ReadonlySet<string>;
  readonly #blockedSuffixes: readonly string[];
  readonly #allowedHosts: ReadonlySet<string>;
  readonly #allowedSuffixes: readonly string[];
  readonly #allowedCidrs: readonly AddressRange[];

  constructor(policy: SsrfPolicy) {
    this.policy = policy;
    this.#words = policy.words ?? WEBHOOK_WORDS;
    this.#blockedHosts = new Set(policy.blockedHostnames.map(normaliseHost).filter((name) => name !== ''));
    this.#blockedSuffixes = policy.blockedSuffixes.map(asSuffix).filter((suffix) => suffix !== '.');
    const allowed = policy.allowedHosts.map(normaliseHost).filter((name) => name !== '');
    this.#allowedHosts = new Set(allowed);
    this.#allowedSuffixes = allowed.filter((name) => name.startsWith('.'));
    this.#allowedCidrs = policy.allowedCidrs.map((text) => {
      const range = parseNetwork(text.trim());
      if (range === null) throw new Error(`${text} is not an IP address or range such as 10.1.0.0/16`);
      return range;
    });
  }

  /**
   * Returns why this host (a name or a literal address) may not be called; null if it may, as far as its spelling
   * shows.
   */
  refuseHost(rawHost: string): string | null {
    if (this.policy.skipAll) return null;
    const host = normaliseHost(rawHost);
    if (isIP(host) !== 0) {
      const refusal = this.#refuseAddress(host, host);
      if (refusal !== null) return `${host} is ${refusal}`;
      return this.#blockedHosts.has(host) && !this.#isExempt(host) ? this.#onBlockList(host) : null;
    }
    if (this.#isAllowedHost(host) || this.#isExempt(host)) return null;
    if (this.#blockedHosts.has(host)) return this.#onBlockList(host);
    const suffix = this.#blockedSuffixes.find((ending) => host.endsWith(ending));
    return suffix === undefined ? null : `${host} ends with the blocked suffix ${suffix}; ${this.#words.remedy}`;
  }

  /**
   * Returns why an address may not be connected to; null if it may.
   * @param address as written by a resolver or a socket
   * @param rawHost the host of the URL that resolved to it
   */
  refuseResolved(address: string, rawHost: string): string | null {
    if (this.policy.skipAll) return null;
    const host = normaliseHost(rawHost);
    const refusal = this.#refuseAddress(address, host);
    if (refusal === null) return null;
    return isIP(host) === 0 ? `${host} resolves to ${refusal}` : `${host} is ${refusal}`;
  }

  #refuseAddress(address: string, host: string): string | null {
    if (this.#inAllowedCidr(address)) return null;
    const found = classifyAddress(address);
    if (found === 'public') return null;
    if (found === 'loopback' && this.policy.allowLoopback) return null;
    if (OPEN_TO_ALLOWED_HOSTS.has(found) && this.#isAllowedHost(host)) return null;
    return `${CLASS_IN_WORDS[found]}, which ${this.#words.callers} may not call; ${this.#words.remedy}`;
  }

  #onBlockList(host: string): string {
    return `${host} is on ${this.#words.blockList}; ${this.#words.remedy}`;
  }

  #isAllowedHost(host: string): boolean {
    return this.#allowedHosts.has(host) || this.#allowedSuffixes.some((suffix) => host.endsWith(suffix));
  }

  /** Hosts to which the lists of blocked names do not apply. */
  #isExempt(host: string): boolean {
    if (this.#isAllowedHost(host) || this.#inAllowedCidr(host)) return true;
    if (!this.policy.allowLoopback) return false;
    return host === 'localhost' || host.endsWith('.localhost') || classifyAddress(host) === 'loopback';
  }

  #inAllowedCidr(address: string): boolean {
    const parsed = parseZonedAddress(address);
    return parsed !== null && this.#allowedCidrs.some((range) => contains(range, parsed));
  }
}

function asSuffix(text: string): string {
  const name = normaliseHost(text);
  return name.startsWith('.') ? name : `.${name}`;
}

const guards = new WeakMap<SsrfPolicy, SsrfGuard>();

function guardOf(policy: SsrfPolicy): SsrfGuard {
  let guard = guards.get(policy);
  if (guard === undefined) guards.set(policy, (guard = new SsrfGuard(policy)));
  return guard;
}

/**
 * Checks the spelling of a webhook's URL at submission. The addresses of a name are checked for every connection.
 * @returns why the URL is rejected and what to do, or null if it is allowed
 */
export function validateWebhookUrl(url: string, policy: SsrfPolicy): string | null {
  if (url.length > URL_LENGTH_MAX) return `must be at most ${URL_LENGTH_MAX} characters long`;
  const parsed = URL.parse(url);
  if (parsed === null) return 'must be an absolute URL such as https://example.com/hook';
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') {
    return `must start with http:// or https://, not ${parsed.protocol}`;
  }
  if (parsed.username !== '' || parsed.password !== '') {
    // URLs are logged, listed and shown; header values are not.
    return 'must not contain a user name or password; use an Authorization header instead';
  }
  return guardOf(policy).refuseHost(parsed.hostname);
}
