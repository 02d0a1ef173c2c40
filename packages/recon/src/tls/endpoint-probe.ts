import type { ProbeEnvironment, TlsOptions } from '../options.ts';
import type { TlsRecord, TlsVersion } from '../records.ts';
import type { Endpoint } from '../targets/port.ts';
import type { CertificateReader } from './certificate-record.ts';
import { cipherName, FIRST_OFFER } from './cipher-suites.ts';
import type { Offer } from './client-hello.ts';
import type { ConnectionOptions } from './conversation.ts';
import { enumerateCiphers, enumerateVersions } from './enumeration.ts';
import type { Ask } from './enumeration.ts';
import { TlsFault } from './fault.ts';
import { protocolFindings } from './findings.ts';
import { greet } from './greeting.ts';
import type { Greeting, GreetingOptions } from './greeting.ts';
import { serverNameOf } from './host-name.ts';
import type { LocalShortage } from './local-shortage.ts';
import type { ProbeKeys } from './key-exchange.ts';
import { GROUP } from './protocol.ts';
import { startTlsOfPort } from './starttls.ts';
import type { StartTlsProtocol } from './starttls.ts';
import { wholeHandshake } from './whole-handshake.ts';
import type { SocketShortage, WholeHandshake } from './whole-handshake.ts';

export interface ProbeContext {
  readonly options: TlsOptions;
  readonly environment: ProbeEnvironment;
  readonly signal: AbortSignal;
  readonly keys: ProbeKeys;
  readonly certificates: CertificateReader;
  readonly shortage: LocalShortage;
  /** Called for each connection. */
  readonly onConnection: () => void;
}

/** Time limit of all connections to one endpoint, as a multiple of the timeout. */
const ENDPOINT_TIMEOUTS_MAX = 24;

const RANDOM_BYTES = 64;

/**
 * Probes one endpoint and returns its record.
 *
 * @throws the signal's reason
 */
export async function probeEndpoint(endpoint: Endpoint, context: ProbeContext): Promise<TlsRecord> {
  const probe = new EndpointProbe(endpoint, context);
  const record = probe.emptyRecord();
  const first = await probe.first();
  const whole = probe.needsWhole(first) ? await probe.whole() : null;
  const enumerated = await probe.enumerate(record, versionIn(first, whole), first);
  const greeting = first.server_hello === null && enumerated !== null ? enumerated : first;
  if (whole !== null) probe.fillFromWhole(record, whole);
  else if (greeting.server_hello !== null) probe.fillFromGreeting(record, greeting);
  if (greeting.server_hello !== null) record.ja3s_hash = greeting.server_hello.ja3s_hash;
  if (record.probe_status) probe.addProtocolFindings(record);
  if (whole === null && greeting.fault !== null) record.error ??= greeting.fault.message;
  record.rtt_ms = first.rtt_ms === null ? null : Math.round(first.rtt_ms * 1000) / 1000;
  return record;
}

function versionIn(first: Greeting, whole: WholeHandshake | null): TlsVersion | null {
  return whole?.version ?? first.server_hello?.version ?? null;
}

class EndpointProbe {
  readonly #endpoint: Endpoint;
  readonly #context: ProbeContext;
  readonly #sni: string | null;
  readonly #starttls: StartTlsProtocol | null;
  #timeLeft: number;
  #hasAnswered = false;

  constructor(endpoint: Endpoint, context: ProbeContext) {
    const { starttls, timeoutMs } = context.options;
    this.#endpoint = endpoint;
    this.#context = context;
    this.#sni = serverNameOf(endpoint.host);
    if (starttls === 'auto') this.#starttls = startTlsOfPort(endpoint.port);
    else this.#starttls = starttls === 'off' ? null : starttls;
    this.#timeLeft = timeoutMs * ENDPOINT_TIMEOUTS_MAX;
  }

  emptyRecord(): TlsRecord {
    const { host, ip, port } = this.#endpoint;
    const timestamp = new Date(this.#context.environment.clock.now()).toISOString();
    const starttls = this.#starttls === null ? {} : { starttls: this.#starttls };
    return { type: 'tls', host, ip, port, sni: this.#sni, probe_status: false, ...starttls, rtt_ms: null, timestamp };
  }

  /**
   * Offers all versions, with modern and old parameters; after a refusal, once more without what may have caused it.
   */
  async first(): Promise<Greeting> {
    const { certificates, alpn } = this.#context.options;
    const goal = certificates ? 'certificates' : 'hello';
    const key_share = this.#context.keys.share(GROUP.x25519);
    const offer = { version: 'tls13' as const, ciphers: FIRST_OFFER, key_share, alpn };
    const greeting = await this.#greet(offer, goal);
    if (greeting.server_hello !== null || greeting.fault?.kind !== 'refused') return greeting;
    // A server that accepts none of these protocols may accept no protocol.
    const isProtocol = greeting.fault.alert === 'no_application_protocol';
    // Some older servers abort instead of choosing, and some certificates are unusable in TLS 1.3.
    const another = isProtocol ? { ...offer, alpn: [] } : { ...offer, version: 'tls12' as const, key_share: null };
    const second = await this.#greet(another, goal);
    return second.server_hello === null ? greeting : second;
  }

  /** Completes a handshake if the answer cannot be computed, or the offer was not answered. */
  needsWhole({ server_hello, chain, fault }: Greeting): boolean {
    if (!this.#context.options.certificates || this.#starttls !== null || chain !== null) return false;
    if (server_hello === null) return fault !== null && fault.alert !== null;
    return server_hello.version === 'tls13' && fault === null;
  }

  async whole(): Promise<WholeHandshake | null> {
    const { alpn } = this.#context.options;
    const whole = await this.#timed<WholeHandshake | SocketShortage | null>(
      (line) => wholeHandshake(this.#endpoint, { ...line, sni: this.#sni, alpn }),
      (result) => (result !== null && 'shortage' in result ? result.shortage : null),
    );
    return whole === null || 'shortage' in whole ? null : whole;
  }

  /** Fills the enumerated members; uses the best answer found, for servers that refused the first offer. */
  async enumerate(record: TlsRecord, known: TlsVersion | null, first: Greeting): Promise<Greeting | null> {
    const { options } = this.#context;
    const isWorthIt = known !== null || first.fault?.kind === 'refused';
    if (!isWorthIt) return null;
    const found = options.versions ? await enumerateVersions(this.#ask, known) : null;
    if (found?.fault) record.error = `versions: ${found.fault.message}`;
    if (found !== null && found.versions.length > 0) record.version_enum = found.versions;
    const versions = record.version_enum ?? (known === null ? [] : [known]);
    if (!options.ciphers || versions.length === 0) return found?.best ?? null;
    record.cipher_enum = {};
    for (const version of versions) {
      const { ciphers, fault } = await enumerateCiphers(this.#ask, version);
      record.cipher_enum[version] = ciphers;
      if (fault !== null) record.error = `ciphers of ${version}: ${fault.message}`;
    }
    return found?.best ?? null;
  }

  fillFromGreeting(record: TlsRecord, { server_hello, chain, alpn }: Greeting): void {
    record.probe_status = true;
    record.tls_version = server_hello!.version;
    record.cipher = cipherName(server_hello!.cipher);
    if (alpn !== undefined) record.alpn = alpn;
    if (chain === null) return;
    record.ocsp_stapled = chain.ocsp_stapled;
    this.#addCertificates(record, chain.certificates);
  }

  fillFromWhole(record: TlsRecord, { version, cipher, alpn, certificates, ocsp_stapled }: WholeHandshake): void {
    record.probe_status = true;
    record.tls_version = version;
    record.cipher = cipher;
    record.alpn = alpn;
    record.ocsp_stapled = ocsp_stapled;
    this.#addCertificates(record, certificates);
  }

  addProtocolFindings(record: TlsRecord): void {
    const ciphers = [record.cipher!, ...Object.values(record.cipher_enum ?? {}).flat()];
    const versions = [record.tls_version!, ...(record.version_enum ?? [])];
    record.findings = [...(record.findings ?? []), ...protocolFindings(versions, ciphers)];
  }

  #addCertificates(record: TlsRecord, certificates: readonly Uint8Array[]): void {
    const now = this.#context.environment.clock.now();
    Object.assign(record, this.#context.certificates.describe(certificates, this.#endpoint.host, now));
  }

  /** Without a key share a TLS 1.3 server only names its preferred group and computes nothing. */
  readonly #ask: Ask = ({ version, ciphers }) =>
    this.#greet({ version, only_tls13: version === 'tls13', ciphers, alpn: [], key_share: null }, 'hello');

  async #greet(offer: Omit<Offer, 'sni' | 'random'>, goal: GreetingOptions['goal']): Promise<Greeting> {
    const { environment, keys } = this.#context;
    const random = environment.random.bytes(RANDOM_BYTES);
    const greeting = await this.#timed(
      (line) =>
        greet(this.#endpoint, {
          ...line,
          offer: { ...offer, sni: this.#sni, random },
          goal,
          starttls: this.#starttls,
          keys,
        }),
      ({ fault }) => (fault?.kind === 'shortage' ? fault.message : null),
    );
    if (greeting === null) {
      const fault = new TlsFault('silent', `not finished within ${ENDPOINT_TIMEOUTS_MAX} times the timeout`);
      return { server_hello: null, chain: null, alpn: undefined, fault, rtt_ms: null };
    }
    this.#observe(greeting);
    return greeting;
  }

  /** Makes one connection when its turn comes, again after a local shortage; returns null if no time is left. */
  #timed<T>(connect: (line: ConnectionOptions) => Promise<T>, lacked: (result: T) => string | null): Promise<T | null> {
    return this.#context.shortage.around(
      () => this.#once(connect),
      (result) => (result === null ? null : lacked(result)),
    );
  }

  async #once<T>(connect: (line: ConnectionOptions) => Promise<T>): Promise<T | null> {
    const { environment, options, signal, onConnection } = this.#context;
    if (this.#timeLeft <= 0) return null;
    await this.#turn();
    onConnection();
    const startedAt = environment.clock.monotonic();
    const timeoutMs = Math.min(options.timeoutMs, this.#timeLeft);
    try {
      return await connect({ clock: environment.clock, timeoutMs, signal });
    } finally {
      this.#timeLeft -= environment.clock.monotonic() - startedAt;
    }
  }

  async #turn(): Promise<void> {
    const { environment, signal } = this.#context;
    for (let waitMs = 1; waitMs > 0;) {
      signal.throwIfAborted();
      waitMs = environment.pace.take(this.#endpoint.ip);
      if (waitMs > 0) await environment.clock.sleep(waitMs, signal);
    }
  }

  /** Only a host that answered before can have lost something; one that connects and stays silent has not. */
  #observe({ fault }: Greeting): void {
    if (fault?.kind === 'shortage') return;
    const isAnswered = fault?.kind !== 'unreachable';
    if (this.#hasAnswered) this.#context.environment.pace.observe(1, isAnswered ? 1 : 0);
    this.#hasAnswered ||= isAnswered;
  }
}
