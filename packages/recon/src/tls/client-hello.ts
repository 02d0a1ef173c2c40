import type { TlsVersion } from '../records.ts';
import { CONTENT_TYPE, EXTENSION, GROUP, HANDSHAKE_TYPE, TLS_VERSIONS, WIRE_VERSION } from './protocol.ts';

export interface KeyShare {
  readonly group: number;
  readonly key: Uint8Array;
}

/** The capabilities a client offers. */
export interface Offer {
  /** The newest version on offer; older ones are accepted too, unless only TLS 1.3 is. */
  readonly version: TlsVersion;
  readonly only_tls13?: boolean;
  readonly ciphers: readonly number[];
  /** The requested server name; null: none. */
  readonly sni: string | null;
  readonly alpn: readonly string[];
  /** For TLS 1.3; without one the server only names its preferred group and computes nothing. */
  readonly key_share: KeyShare | null;
  /** The cookie of a HelloRetryRequest. */
  readonly cookie?: Uint8Array;
  /** 64 random bytes: the client random and the session id. */
  readonly random: Uint8Array;
}

const RECORD_HEADER_BYTES = 5;

const SIGNATURE_ALGORITHMS = uint16s([
  ...[0x0403, 0x0804, 0x0401, 0x0503, 0x0805, 0x0501, 0x0603, 0x0806, 0x0601, 0x0807, 0x0808, 0x0809, 0x080a, 0x080b],
  ...[0x0303, 0x0301, 0x0402, 0x0502, 0x0602, 0x0302, 0x0203, 0x0201, 0x0202, 0x0101],
]);

const COMPUTABLE = [GROUP.x25519, GROUP.secp256r1, GROUP.secp384r1, GROUP.secp521r1];
/**
 * X448, Brainpool, secp224r1, secp256k1, secp192r1: a server with such a certificate key shows it only to clients that
 * offer them.
 */
const OTHER_GROUPS = [30, 28, 27, 26, 21, 22, 19];
const GROUPS = extension(EXTENSION.supported_groups, vector16(uint16s([...COMPUTABLE, ...OTHER_GROUPS])));
/** Adds finite fields and post-quantum hybrids, which a server may prefer if no key share is offered. */
const ALL_GROUPS = extension(
  EXTENSION.supported_groups,
  vector16(uint16s([...COMPUTABLE, ...OTHER_GROUPS, 0x0100, 0x0101, 0x0102, 0x0103, 0x0104, 0x11ec, 0x11eb, 0x11ed])),
);

/** Extensions common to every offer, and those that TLS 1.3 adds. */
const BASE_EXTENSIONS = Buffer.concat([
  extension(EXTENSION.ec_point_formats, Buffer.of(1, 0)),
  extension(EXTENSION.session_ticket, Buffer.alloc(0)),
  extension(EXTENSION.extended_master_secret, Buffer.alloc(0)),
  extension(EXTENSION.renegotiation_info, Buffer.of(0)),
  extension(EXTENSION.status_request, Buffer.of(1, 0, 0, 0, 0)),
]);
const SIGNATURE_EXTENSION = extension(EXTENSION.signature_algorithms, vector16(SIGNATURE_ALGORITHMS));
const TLS13_MODES = extension(EXTENSION.psk_key_exchange_modes, Buffer.of(1, 1));

/** Returns a ClientHello in its record, ready to send; the message itself starts at `RECORD_HEADER_BYTES`. */
export function clientHello(offer: Offer): Buffer {
  const { version, ciphers, random } = offer;
  const isTls13 = version === 'tls13';
  const extensions = version === 'ssl30' ? [] : [vector16(Buffer.concat(extensionsOf(offer, isTls13)))];
  const body = Buffer.concat([
    uint16s([isTls13 ? WIRE_VERSION.tls12 : WIRE_VERSION[version]]),
    random.subarray(0, 32),
    // TLS 1.3 servers echo the session id for middleboxes; older ones would treat it as a resumption.
    isTls13 ? vector8(random.subarray(32, 64)) : Buffer.of(0),
    vector16(uint16s(ciphers)),
    Buffer.of(1, 0),
    ...extensions,
  ]);
  const header = Buffer.alloc(RECORD_HEADER_BYTES + 4);
  header[0] = CONTENT_TYPE.handshake;
  header.writeUInt16BE(version === 'ssl30' ? WIRE_VERSION.ssl30 : WIRE_VERSION.tls10, 1);
  header.writeUInt16BE(body.length + 4, 3);
  header[RECORD_HEADER_BYTES] = HANDSHAKE_TYPE.client_hello;
  header.writeUIntBE(body.length, RECORD_HEADER_BYTES + 1, 3);
  return Buffer.concat([header, body]);
}

/** Returns the handshake message of a `clientHello` record, as used in transcripts. */
export function messageOf(record: Buffer): Buffer {
  return record.subarray(RECORD_HEADER_BYTES);
}

function extensionsOf({ version, only_tls13, sni, alpn, key_share, cookie }: Offer, isTls13: boolean): Buffer[] {
  const extensions: Buffer[] = [];
  if (sni !== null) extensions.push(serverName(sni));
  extensions.push(only_tls13 === true && key_share === null ? ALL_GROUPS : GROUPS, BASE_EXTENSIONS);
  if (isTls13 || version === 'tls12') extensions.push(SIGNATURE_EXTENSION);
  if (alpn.length > 0) extensions.push(protocols(alpn));
  if (!isTls13) return extensions;
  const versions = only_tls13 === true ? ['tls13' as const] : TLS_VERSIONS.slice(1).toReversed();
  const shares = key_share === null ? [] : [uint16s([key_share.group]), vector16(key_share.key)];
  extensions.push(
    extension(EXTENSION.supported_versions, vector8(uint16s(versions.map((one) => WIRE_VERSION[one])))),
    TLS13_MODES,
    extension(EXTENSION.key_share, vector16(Buffer.concat(shares))),
  );
  if (cookie !== undefined) extensions.push(extension(EXTENSION.cookie, vector16(cookie)));
  return extensions;
}

function serverName(name: string): Buffer {
  const bytes = vector16(Buffer.from(name, 'latin1'));
  return extension(EXTENSION.server_name, vector16(Buffer.concat([Buffer.of(0), bytes])));
}

function protocols(alpn: readonly string[]): Buffer {
  return extension(EXTENSION.alpn, vector16(Buffer.concat(alpn.map((name) => vector8(Buffer.from(name, 'latin1'))))));
}

function extension(type: number, content: Uint8Array): Buffer {
  return Buffer.concat([uint16s([type]), vector16(content)]);
}

function vector8(content: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(content.length), content]);
}

function vector16(content: Uint8Array): Buffer {
  return Buffer.concat([uint16s([content.length]), content]);
}

function uint16s(values: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(values.length * 2);
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value, index * 2);
  return bytes;
}
