import { Type } from 'typebox';

/** The JSON Schema published as docs/scanning/recon-projectdiscovery.schema.json. */

const closed = { additionalProperties: false };

const Texts = (description: string) => Type.Optional(Type.Array(Type.String(), { description, minItems: 1 }));
const Text = (description: string) => Type.Optional(Type.String({ description, minLength: 1 }));
const Mark = (description: string) => Type.Optional(Type.Literal(true, { description }));
const Whole = (description: string) => Type.Integer({ minimum: 0, description });

const Timestamp = Type.String({ description: 'RFC 3339.' });
const Host = Type.String({ description: 'The target as given.' });
const Version = Type.Unsafe<'ssl30' | 'tls10' | 'tls11' | 'tls12' | 'tls13'>(
  Type.Enum(['ssl30', 'tls10', 'tls11', 'tls12', 'tls13'], { type: 'string' }),
);

export const NaabuLineSchema = Type.Object(
  {
    host: Text('The name, if the target is one.'),
    ip: Type.String({ description: 'The address.' }),
    timestamp: Timestamp,
    port: Type.Integer({ minimum: 1, maximum: 65_535, description: 'An open port.' }),
    protocol: Type.Literal('tcp'),
    tls: Type.Literal(false, { description: 'Not detected by a port probe; use `heddle recon tls`.' }),
  },
  { ...closed, title: 'naabu', description: '`heddle recon tcp --json-style projectdiscovery`' },
);

export const DnsxLineSchema = Type.Object(
  {
    host: Type.String({ description: 'The queried name or address.' }),
    ttl: Type.Optional(Whole('Seconds.')),
    resolver: Texts('The server that answered.'),
    a: Texts('IPv4 addresses.'),
    aaaa: Texts('IPv6 addresses.'),
    cname: Texts('Canonical names.'),
    mx: Texts('Names of mail servers.'),
    ptr: Texts('Names of the address.'),
    soa: Type.Optional(
      Type.Array(
        Type.Object(
          {
            name: Type.String(),
            ns: Type.String(),
            mailbox: Type.String(),
            serial: Whole('The version of the zone.'),
            refresh: Whole('Seconds.'),
            retry: Whole('Seconds.'),
            expire: Whole('Seconds.'),
            minttl: Whole('Seconds.'),
          },
          closed,
        ),
        { minItems: 1 },
      ),
    ),
    ns: Texts('Name servers of the zone.'),
    txt: Texts('Texts.'),
    srv: Texts('Targets of services.'),
    caa: Texts('Values.'),
    status_code: Type.String({ description: 'NOERROR, NXDOMAIN, …; TIMEOUT or MALFORMED without a usable answer.' }),
    status_code_raw: Type.Optional(Whole('Numeric code, if not 0.')),
    timestamp: Timestamp,
  },
  { ...closed, title: 'dnsx', description: '`heddle recon dns --json-style projectdiscovery`' },
);

const certificate = {
  expired: Mark('The certificate has expired.'),
  self_signed: Mark('The certificate is its own issuer.'),
  mismatched: Mark('The certificate does not cover the host.'),
  untrusted: Mark('No trust path leads to a known root.'),
  not_before: Text('RFC 3339.'),
  not_after: Text('RFC 3339.'),
  subject_dn: Text('The full name of the subject.'),
  subject_cn: Text('Its common name.'),
  subject_org: Texts('Its organizations.'),
  subject_an: Texts('Names and addresses of the certificate.'),
  serial: Text('Hexadecimal, with colons.'),
  issuer_dn: Text('The full name of the issuer.'),
  issuer_cn: Text('Its common name.'),
  issuer_org: Texts('Its organizations.'),
  fingerprint_hash: Type.Optional(
    Type.Object({ md5: Type.String(), sha1: Type.String(), sha256: Type.String() }, closed),
  ),
  wildcard_certificate: Mark('The certificate covers all names below a domain.'),
};

export const TlsxLineSchema = Type.Object(
  {
    timestamp: Timestamp,
    host: Host,
    ip: Type.String({ description: 'The address.' }),
    port: Type.String({ pattern: '^[1-9][0-9]{0,4}$' }),
    probe_status: Type.Boolean({ description: 'Whether a handshake was answered.' }),
    error: Text('Why no handshake was answered.'),
    tls_version: Type.Optional(Version),
    cipher: Text('Chosen by the server.'),
    chain: Type.Optional(
      Type.Array(Type.Object(certificate, closed), { minItems: 1, description: 'Certificates above the leaf.' }),
    ),
    ja3s_hash: Text("Fingerprint of the server's response."),
    sni: Text('Server name sent.'),
    version_enum: Type.Optional(Type.Array(Version, { minItems: 1 })),
    cipher_enum: Type.Optional(
      Type.Array(
        Type.Object(
          {
            version: Version,
            ciphers: Type.Object({ weak: Texts('No longer acceptable.'), secure: Texts('All others.') }, closed),
          },
          closed,
        ),
        { minItems: 1 },
      ),
    ),
    ...certificate,
  },
  { ...closed, title: 'tlsx', description: '`heddle recon tls --json-style projectdiscovery`' },
);

export const ProjectDiscoveryLineSchema = Type.Union([NaabuLineSchema, DnsxLineSchema, TlsxLineSchema], {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'One line of `heddle recon … --json-style projectdiscovery`',
});
