/**
 * Records of probes: one JSON object per line on the command line, elements of results in workflows. Names follow
 * naabu, dnsx and tlsx. Times are ISO 8601 in UTC with milliseconds, durations milliseconds.
 */

/** The scan method: raw SYN packets, or full connections. */
export type PortMethod = 'syn' | 'connect';

export type PortState = 'open' | 'closed' | 'filtered';

export interface PortRecord {
  type: 'port';
  /** The target as given: a name or an address. */
  host: string;
  ip: string;
  port: number;
  protocol: 'tcp';
  state: PortState;
  /** Evidence for the state: `syn-ack`, `rst`, `no-response`, `icmp-unreachable`, `connected`, `refused`, … */
  reason: string;
  method: PortMethod;
  /** Null without an answer. */
  rtt_ms: number | null;
  /** Banner of the service, at most 1,024 bytes, non-printable bytes escaped; only if requested. */
  banner?: string;
  timestamp: string;
}

export type DnsType = 'A' | 'AAAA' | 'CNAME' | 'MX' | 'NS' | 'TXT' | 'SOA' | 'SRV' | 'CAA' | 'PTR';

export interface MxAnswer {
  preference: number;
  exchange: string;
}

export interface SoaAnswer {
  mname: string;
  rname: string;
  serial: number;
  refresh: number;
  retry: number;
  expire: number;
  minimum: number;
}

export interface SrvAnswer {
  priority: number;
  weight: number;
  port: number;
  target: string;
}

export interface CaaAnswer {
  flags: number;
  tag: string;
  value: string;
}

/** One name and one type. Members without answers are absent. */
export interface DnsRecord {
  type: 'dns';
  host: string;
  /** `ip:port` of the server that answered; null if none did, and for `localhost`, which is never queried. */
  resolver: string | null;
  query_type: DnsType;
  /** NOERROR, NXDOMAIN, SERVFAIL, REFUSED, …; TIMEOUT or MALFORMED without a usable answer. */
  status_code: string;
  a?: string[];
  aaaa?: string[];
  cname?: string[];
  mx?: MxAnswer[];
  ns?: string[];
  txt?: string[];
  soa?: SoaAnswer[];
  srv?: SrvAnswer[];
  caa?: CaaAnswer[];
  ptr?: string[];
  /** Smallest TTL of the answers in seconds; null without answers. */
  ttl: number | null;
  /** The zone answers the same for names that do not exist. */
  wildcard?: boolean;
  /** Queried over TCP because the answer did not fit. */
  tcp?: boolean;
  rtt_ms: number | null;
  timestamp: string;
}

export type TlsVersion = 'ssl30' | 'tls10' | 'tls11' | 'tls12' | 'tls13';

export interface TlsCertificate {
  subject_dn: string;
  subject_cn: string | null;
  /** Organizations of the name, in its order. */
  subject_org: string[];
  /** Names and addresses of the certificate. */
  subject_an: string[];
  issuer_dn: string;
  issuer_cn: string | null;
  issuer_org: string[];
  serial: string;
  not_before: string;
  not_after: string;
  key_type: string;
  key_bits: number | null;
  signature_algorithm: string;
  fingerprint_hash: { md5: string; sha1: string; sha256: string };
  self_signed: boolean;
}

export type TlsFinding =
  | 'expired'
  | 'not_yet_valid'
  | 'self_signed'
  | 'mismatched'
  | 'untrusted'
  | 'weak_key'
  | 'weak_signature'
  | 'weak_version'
  | 'weak_cipher'
  | 'broken_chain';

/** Members beyond `error` are present if `probe_status` is true. */
export interface TlsRecord {
  type: 'tls';
  host: string;
  ip: string;
  port: number;
  sni: string | null;
  /** Whether a handshake was answered. */
  probe_status: boolean;
  error?: string;
  tls_version?: TlsVersion;
  cipher?: string;
  alpn?: string | null;
  /** Whether the server stapled an OCSP response. */
  ocsp_stapled?: boolean;
  /** Versions and ciphers the server accepts, if requested. */
  version_enum?: TlsVersion[];
  cipher_enum?: Partial<Record<TlsVersion, string[]>>;
  subject_dn?: string;
  subject_cn?: string | null;
  subject_org?: string[];
  subject_an?: string[];
  issuer_dn?: string;
  issuer_cn?: string | null;
  issuer_org?: string[];
  serial?: string;
  not_before?: string;
  not_after?: string;
  key_type?: string;
  key_bits?: number | null;
  signature_algorithm?: string;
  fingerprint_hash?: { md5: string; sha1: string; sha256: string };
  wildcard_certificate?: boolean;
  expired?: boolean;
  self_signed?: boolean;
  /** The certificate does not cover the host. */
  mismatched?: boolean;
  untrusted?: boolean;
  findings?: TlsFinding[];
  /** The chain above the leaf, as sent. */
  chain?: TlsCertificate[];
  ja3s_hash?: string;
  /** Protocol spoken before the handshake. */
  starttls?: 'smtp' | 'imap' | 'ftp';
  rtt_ms: number | null;
  timestamp: string;
}

export type ReconRecord = PortRecord | DnsRecord | TlsRecord;
