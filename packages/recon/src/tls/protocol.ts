import type { TlsVersion } from '../records.ts';

/** Versions, oldest first. */
export const TLS_VERSIONS: readonly TlsVersion[] = ['ssl30', 'tls10', 'tls11', 'tls12', 'tls13'];

/** Version numbers on the wire (RFC 6101, 2246, 4346, 5246, 8446). */
export const WIRE_VERSION: Readonly<Record<TlsVersion, number>> = {
  ssl30: 0x0300,
  tls10: 0x0301,
  tls11: 0x0302,
  tls12: 0x0303,
  tls13: 0x0304,
};

export function versionOf(wire: number): TlsVersion | null {
  return TLS_VERSIONS.find((version) => WIRE_VERSION[version] === wire) ?? null;
}

export const CONTENT_TYPE = { change_cipher_spec: 20, alert: 21, handshake: 22, application_data: 23 } as const;

export const HANDSHAKE_TYPE = {
  client_hello: 1,
  server_hello: 2,
  encrypted_extensions: 8,
  certificate: 11,
  server_key_exchange: 12,
  certificate_request: 13,
  server_hello_done: 14,
  finished: 20,
  certificate_status: 22,
  message_hash: 254,
} as const;

export const EXTENSION = {
  server_name: 0,
  status_request: 5,
  supported_groups: 10,
  ec_point_formats: 11,
  signature_algorithms: 13,
  alpn: 16,
  extended_master_secret: 23,
  session_ticket: 35,
  supported_versions: 43,
  cookie: 44,
  psk_key_exchange_modes: 45,
  key_share: 51,
  renegotiation_info: 0xff01,
} as const;

/** Groups of key exchange that a probe can compute. */
export const GROUP = { secp256r1: 23, secp384r1: 24, secp521r1: 25, x25519: 29 } as const;

/** Limits on what a probe reads, whatever the server sends. */
export const READ_LIMITS = {
  /** Bytes of one connection, greetings included. */
  bytes_max: 256 * 1024,
  /** Bytes of handshake messages. */
  handshake_bytes_max: 64 * 1024,
  /** Certificates of a chain; further ones are ignored. */
  chain_max: 16,
  /** Records without content, and warnings. */
  idle_records_max: 32,
} as const;

/** Names of alerts in IANA's spelling. */
const ALERTS: Readonly<Record<number, string>> = {
  0: 'close_notify',
  10: 'unexpected_message',
  20: 'bad_record_mac',
  21: 'decryption_failed',
  22: 'record_overflow',
  30: 'decompression_failure',
  40: 'handshake_failure',
  41: 'no_certificate',
  42: 'bad_certificate',
  43: 'unsupported_certificate',
  44: 'certificate_revoked',
  45: 'certificate_expired',
  46: 'certificate_unknown',
  47: 'illegal_parameter',
  48: 'unknown_ca',
  49: 'access_denied',
  50: 'decode_error',
  51: 'decrypt_error',
  52: 'too_many_cids_requested',
  60: 'export_restriction',
  70: 'protocol_version',
  71: 'insufficient_security',
  80: 'internal_error',
  86: 'inappropriate_fallback',
  90: 'user_canceled',
  100: 'no_renegotiation',
  109: 'missing_extension',
  110: 'unsupported_extension',
  111: 'certificate_unobtainable',
  112: 'unrecognized_name',
  113: 'bad_certificate_status_response',
  114: 'bad_certificate_hash_value',
  115: 'unknown_psk_identity',
  116: 'certificate_required',
  120: 'no_application_protocol',
  121: 'ech_required',
};

export function alertName(code: number): string {
  return ALERTS[code] ?? `alert_${code}`;
}
