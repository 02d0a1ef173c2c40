import { Type, type TOptional, type TSchema } from 'typebox';

/** The JSON Schema of records, published as docs/scanning/recon-records.schema.json. */

const closed = { additionalProperties: false };

const Text = (description: string) => Type.String({ description });
const Whole = (description: string, maximum?: number) =>
  Type.Integer({ minimum: 0, ...(maximum === undefined ? {} : { maximum }), description });
const Flag = (description: string) => Type.Boolean({ description });
const Names = (description: string) => Type.Array(Type.String(), { description });
const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);
const oneOf = <const Values extends readonly string[]>(values: Values, description: string) =>
  Type.Unsafe<Values[number]>(Type.Enum([...values], { type: 'string', description }));

const Timestamp = Type.String({
  description: 'When the result was known: ISO 8601 in UTC with milliseconds.',
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$',
});
const RoundTrip = Type.Union([Type.Number({ minimum: 0 }), Type.Null()], {
  description: 'Milliseconds until the answer; null without one.',
});
const Port = Type.Integer({ minimum: 1, maximum: 65_535 });
const Host = Text('The target as given: a name or an address.');

export const PortRecordSchema = Type.Object(
  {
    type: Type.Literal('port'),
    host: Host,
    ip: Text('The address that was probed.'),
    port: Port,
    protocol: Type.Literal('tcp'),
    state: oneOf(['open', 'closed', 'filtered'], '`filtered`: no answer, or rejected on the way.'),
    reason: Text('Evidence for the state: syn-ack, rst, no-response, icmp-unreachable, connected, refused, …'),
    method: oneOf(['syn', 'connect'], 'Raw SYN packets or full connections.'),
    rtt_ms: RoundTrip,
    banner: Type.Optional(Text('Banner of the service, at most 1,024 bytes; non-printable bytes are escaped.')),
    timestamp: Timestamp,
  },
  { ...closed, title: 'Port', description: 'One TCP port: `heddle recon tcp`.' },
);

const DNS_TYPES = ['A', 'AAAA', 'CNAME', 'MX', 'NS', 'TXT', 'SOA', 'SRV', 'CAA', 'PTR'] as const;

const MxSchema = Type.Object(
  { preference: Whole('Lower values come first.', 65_535), exchange: Type.String() },
  closed,
);

const SoaSchema = Type.Object(
  {
    mname: Text('The primary server.'),
    rname: Text('The mailbox of the responsible person, written as a name.'),
    serial: Whole('The version of the zone.'),
    refresh: Whole('Seconds.'),
    retry: Whole('Seconds.'),
    expire: Whole('Seconds.'),
    minimum: Whole('Time to live of negative answers, seconds.'),
  },
  closed,
);

const SrvSchema = Type.Object(
  {
    priority: Whole('Lower values come first.', 65_535),
    weight: Whole('Share among the same priority.', 65_535),
    port: Whole('Port of the service.', 65_535),
    target: Type.String(),
  },
  closed,
);

const CaaSchema = Type.Object(
  { flags: Whole('128: critical.', 255), tag: Type.String(), value: Type.String() },
  closed,
);

export const DnsRecordSchema = Type.Object(
  {
    type: Type.Literal('dns'),
    host: Text('The queried name, or the address whose names were queried.'),
    resolver: nullable(Text('`ip:port` of the server that answered; null if none did.')),
    query_type: oneOf(DNS_TYPES, 'The query type.'),
    status_code: Text('NOERROR, NXDOMAIN, SERVFAIL, REFUSED, …; TIMEOUT or MALFORMED without a usable answer.'),
    a: Type.Optional(Names('IPv4 addresses.')),
    aaaa: Type.Optional(Names('IPv6 addresses.')),
    cname: Type.Optional(Names('Canonical names, in the order of the answer.')),
    mx: Type.Optional(Type.Array(MxSchema)),
    ns: Type.Optional(Names('Name servers of the zone.')),
    txt: Type.Optional(Names('Text records, each joined from its pieces.')),
    soa: Type.Optional(Type.Array(SoaSchema)),
    srv: Type.Optional(Type.Array(SrvSchema)),
    caa: Type.Optional(Type.Array(CaaSchema)),
    ptr: Type.Optional(Names('Names of the address.')),
    ttl: nullable(Whole('Smallest TTL of the answers, seconds; null without answers.')),
    wildcard: Type.Optional(Flag('The zone answers the same for names that do not exist.')),
    tcp: Type.Optional(Flag('Queried over TCP because the answer did not fit a UDP packet.')),
    rtt_ms: RoundTrip,
    timestamp: Timestamp,
  },
  { ...closed, title: 'Name', description: 'One name and one type: `heddle recon dns`.' },
);

const TLS_VERSIONS = ['ssl30', 'tls10', 'tls11', 'tls12', 'tls13'] as const;

const Fingerprints = Type.Object({ md5: Type.String(), sha1: Type.String(), sha256: Type.String() }, closed);

const certificate = {
  subject_dn: Text('The full name of the subject in RFC 4514 form.'),
  subject_cn: nullable(Text('Its common name.')),
  subject_org: Names('Its organizations.'),
  subject_an: Names('Names and addresses of the certificate.'),
  issuer_dn: Text('The full name of the issuer.'),
  issuer_cn: nullable(Text('Its common name.')),
  issuer_org: Names('Its organizations.'),
  serial: Text('The serial number in hexadecimal.'),
  not_before: Text('ISO 8601.'),
  not_after: Text('ISO 8601.'),
  key_type: Text('rsa, ec, ed25519, …'),
  key_bits: nullable(Whole('Size of the key; null if the type implies it.')),
  signature_algorithm: Text('The signature algorithm.'),
  fingerprint_hash: Fingerprints,
  self_signed: Flag('The certificate is its own issuer.'),
};

const CertificateSchema = Type.Object(certificate, closed);

const FINDINGS = [
  'expired',
  'not_yet_valid',
  'self_signed',
  'mismatched',
  'untrusted',
  'weak_key',
  'weak_signature',
  'weak_version',
  'weak_cipher',
  'broken_chain',
] as const;

const Suites = Type.Optional(Type.Array(Type.String()));

export const TlsRecordSchema = Type.Object(
  {
    type: Type.Literal('tls'),
    host: Host,
    ip: Text('The address that was probed.'),
    port: Port,
    sni: nullable(Text('Server name sent; null if the target is an address.')),
    probe_status: Flag('Whether a handshake was answered. Members beyond `error` are present if it is true.'),
    error: Type.Optional(Text('Why no handshake was answered, or what was left out.')),
    tls_version: Type.Optional(oneOf(TLS_VERSIONS, 'Chosen by the server.')),
    cipher: Type.Optional(Text('Chosen by the server.')),
    alpn: Type.Optional(nullable(Text('Protocol chosen by the server; null without one.'))),
    ocsp_stapled: Type.Optional(Flag('Whether the server stapled an OCSP response.')),
    version_enum: Type.Optional(
      Type.Array(oneOf(TLS_VERSIONS, 'A version.'), { description: 'All that the server accepts.' }),
    ),
    cipher_enum: Type.Optional(
      Type.Object(
        { ssl30: Suites, tls10: Suites, tls11: Suites, tls12: Suites, tls13: Suites },
        { ...closed, description: 'All that the server accepts, by version.' },
      ),
    ),
    ...optional(certificate),
    wildcard_certificate: Type.Optional(Flag('The certificate covers all names below a domain.')),
    expired: Type.Optional(Flag('The certificate has expired.')),
    mismatched: Type.Optional(Flag('The certificate does not cover the host.')),
    untrusted: Type.Optional(Flag('No trust path leads to a known root.')),
    findings: Type.Optional(Type.Array(oneOf(FINDINGS, 'A problem.'))),
    chain: Type.Optional(Type.Array(CertificateSchema, { description: 'Certificates above the leaf, as sent.' })),
    ja3s_hash: Type.Optional(Text("Fingerprint of the server's response.")),
    starttls: Type.Optional(oneOf(['smtp', 'imap', 'ftp'], 'Protocol spoken before the handshake.')),
    rtt_ms: RoundTrip,
    timestamp: Timestamp,
  },
  { ...closed, title: 'TLS endpoint', description: 'One TLS endpoint: `heddle recon tls`.' },
);

export const ReconRecordSchema = Type.Union([PortRecordSchema, DnsRecordSchema, TlsRecordSchema], {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'One line of `heddle recon … --json`',
});

function optional<T extends Record<string, TSchema>>(members: T): { [K in keyof T]: TOptional<T[K]> } {
  const entries = Object.entries(members).map(([name, type]) => [name, Type.Optional(type)]);
  return Object.fromEntries(entries) as { [K in keyof T]: TOptional<T[K]> };
}
