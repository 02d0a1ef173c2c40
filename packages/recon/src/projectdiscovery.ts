/**
 * Records in the format of naabu, dnsx and tlsx with `-json`: exactly their members, by name and type. Empty and false
 * values are omitted where those tools omit them.
 */
import { rcodeOf } from './dns/codes.ts';
import type {
  DnsRecord,
  PortRecord,
  ReconRecord,
  SoaAnswer,
  TlsCertificate,
  TlsRecord,
  TlsVersion,
} from './records.ts';
import { isWeakCipher } from './tls/cipher-suites.ts';

/** A line of naabu. It has no member for the state of a port, so only open ones are written. */
export interface NaabuLine {
  /** Omitted if it equals the address. */
  host?: string;
  ip: string;
  timestamp: string;
  port: number;
  protocol: 'tcp';
  /** Whether the service uses TLS; a port probe does not detect it. */
  tls: false;
}

/** A line of dnsx for one name and one type: answers of several types are several lines. */
export interface DnsxLine {
  host: string;
  ttl?: number;
  resolver?: string[];
  a?: string[];
  aaaa?: string[];
  cname?: string[];
  mx?: string[];
  ptr?: string[];
  soa?: DnsxSoa[];
  ns?: string[];
  txt?: string[];
  srv?: string[];
  caa?: string[];
  status_code: string;
  status_code_raw?: number;
  timestamp: string;
}

export interface DnsxSoa {
  name: string;
  ns: string;
  mailbox: string;
  serial: number;
  refresh: number;
  retry: number;
  expire: number;
  minttl: number;
}

export interface TlsxCertificate {
  expired?: true;
  self_signed?: true;
  mismatched?: true;
  untrusted?: true;
  not_before?: string;
  not_after?: string;
  subject_dn?: string;
  subject_cn?: string;
  subject_org?: string[];
  subject_an?: string[];
  serial?: string;
  issuer_dn?: string;
  issuer_cn?: string;
  issuer_org?: string[];
  fingerprint_hash?: { md5: string; sha1: string; sha256: string };
  wildcard_certificate?: true;
}

/** A line of tlsx. */
export interface TlsxLine extends TlsxCertificate {
  timestamp: string;
  host: string;
  ip: string;
  /** A string, as in tlsx. */
  port: string;
  probe_status: boolean;
  error?: string;
  tls_version?: TlsVersion;
  cipher?: string;
  chain?: TlsxCertificate[];
  ja3s_hash?: string;
  sni?: string;
  version_enum?: TlsVersion[];
  cipher_enum?: { version: TlsVersion; ciphers: { weak?: string[]; secure?: string[] } }[];
}

export type ProjectDiscoveryLine = NaabuLine | DnsxLine | TlsxLine;

/** Converts a record to the format of the corresponding tool. */
export function projectDiscoveryLine(record: ReconRecord): ProjectDiscoveryLine {
  switch (record.type) {
    case 'port':
      return naabuLine(record);
    case 'dns':
      return dnsxLine(record);
    case 'tls':
      return tlsxLine(record);
  }
}

function naabuLine({ host, ip, port, protocol, timestamp }: PortRecord): NaabuLine {
  return { ...(host === ip ? {} : { host }), ip, timestamp, port, protocol, tls: false };
}

function dnsxLine(record: DnsRecord): DnsxLine {
  const { host, ttl, resolver, status_code, timestamp, a, aaaa, cname, ns, txt, ptr } = record;
  return withoutEmpty<DnsxLine>({
    host,
    ttl: ttl ?? 0,
    resolver: resolver === null ? [] : [resolver],
    a,
    aaaa,
    cname,
    mx: record.mx?.map(({ exchange }) => exchange),
    ptr,
    soa: record.soa?.map((answer) => soaOf(host, answer)),
    ns,
    txt,
    srv: record.srv?.map(({ target }) => target),
    caa: record.caa?.map(({ value }) => value),
    status_code,
    status_code_raw: rcodeOf(status_code) ?? 0,
    timestamp,
  });
}

function soaOf(name: string, { mname, rname, minimum, serial, refresh, retry, expire }: SoaAnswer): DnsxSoa {
  return { name, ns: mname, mailbox: rname, serial, refresh, retry, expire, minttl: minimum };
}

type TlsxRequired = Pick<TlsxLine, 'timestamp' | 'host' | 'ip' | 'port' | 'probe_status'>;

function tlsxLine(record: TlsRecord): TlsxLine {
  const { timestamp, host, ip, port, probe_status, error, tls_version, cipher, ja3s_hash, sni, version_enum } = record;
  return {
    ...certificateOf(record),
    ...withoutEmpty<Omit<TlsxLine, keyof TlsxCertificate | keyof TlsxRequired>>({
      error,
      tls_version,
      cipher,
      chain: record.chain?.map((each) => certificateOf(each)),
      ja3s_hash,
      sni: sni ?? '',
      version_enum,
      cipher_enum: suitesOf(record.cipher_enum ?? {}),
    }),
    timestamp,
    host,
    ip,
    port: String(port),
    probe_status,
  };
}

function certificateOf(record: TlsRecord | TlsCertificate): TlsxCertificate {
  const { not_before, not_after, subject_dn, subject_cn, subject_org, subject_an, serial } = record;
  const { issuer_dn, issuer_cn, issuer_org, fingerprint_hash, self_signed } = record;
  const of = 'probe_status' in record ? record : undefined;
  return withoutEmpty<TlsxCertificate>({
    expired: of?.expired,
    self_signed,
    mismatched: of?.mismatched,
    untrusted: of?.untrusted,
    not_before,
    not_after,
    subject_dn,
    subject_cn: subject_cn ?? '',
    subject_org,
    subject_an,
    serial,
    issuer_dn,
    issuer_cn: issuer_cn ?? '',
    issuer_org,
    fingerprint_hash,
    wildcard_certificate: of?.wildcard_certificate,
  });
}

function suitesOf(suites: NonNullable<TlsRecord['cipher_enum']>): NonNullable<TlsxLine['cipher_enum']> {
  return Object.entries(suites).map(([version, ciphers]) => ({
    version: version as TlsVersion,
    ciphers: withoutEmpty<{ weak?: string[]; secure?: string[] }>({
      weak: ciphers.filter((cipher) => isWeakCipher(cipher)),
      secure: ciphers.filter((cipher) => !isWeakCipher(cipher)),
    }),
  }));
}

/** Removes what Go encoders omit: missing, false, 0, and empty members. */
function withoutEmpty<T extends object>(line: {
  [Member in keyof Required<T>]: T[Member] | boolean | undefined;
}): T {
  const isEmpty = (value: unknown): boolean =>
    value === undefined || value === false || value === 0 || (value as { length?: number }).length === 0;
  return Object.fromEntries(Object.entries(line).filter(([, value]) => !isEmpty(value))) as T;
}
