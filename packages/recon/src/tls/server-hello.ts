import { createHash } from 'node:crypto';

import type { TlsVersion } from '../records.ts';
import { ByteReader } from './byte-reader.ts';
import { malformed } from './fault.ts';
import { EXTENSION, versionOf } from './protocol.ts';

export interface ServerHello {
  readonly version: TlsVersion;
  readonly cipher: number;
  /** Extension numbers in the server's order. */
  readonly extensions: readonly number[];
  /** Before TLS 1.3 only; null if none was chosen. */
  readonly alpn: string | null;
  /** Requests another offer (HelloRetryRequest), with version and cipher already chosen. */
  readonly is_retry: boolean;
  /** The key exchange group that the server chose or requests. */
  readonly group: number | null;
  /** The server's half of the key exchange; null before TLS 1.3. */
  readonly key: Uint8Array | null;
  readonly cookie: Uint8Array | null;
  /** MD5 of version, cipher and extensions in JA3S form. */
  readonly ja3s_hash: string;
}

/** SHA-256 of "HelloRetryRequest": the random that identifies this message (RFC 8446, 4.1.3). */
const RETRY_RANDOM = createHash('sha256').update('HelloRetryRequest').digest();

/** @throws TlsFault if the body is not a ServerHello of a known version */
export function parseServerHello(body: Uint8Array): ServerHello {
  const reader = new ByteReader(body, 'the ServerHello');
  const legacyVersion = reader.uint16();
  const random = reader.take(32);
  if (reader.vector8().length > 32) throw malformed('the session id is longer than 32 bytes');
  const cipher = reader.uint16();
  if (reader.uint8() !== 0) throw malformed('compression that was not offered');
  const extensions = trailingExtensions(reader);
  const isRetry = RETRY_RANDOM.equals(random);
  const shared = readKeyShare(extensions.get(EXTENSION.key_share), isRetry);
  return {
    version: chosenVersion(legacyVersion, extensions.get(EXTENSION.supported_versions)),
    cipher,
    extensions: [...extensions.keys()],
    alpn: readAlpn(extensions.get(EXTENSION.alpn)),
    is_retry: isRetry,
    ...shared,
    cookie: readCookie(extensions.get(EXTENSION.cookie)),
    ja3s_hash: createHash('md5')
      .update(`${legacyVersion},${cipher},${[...extensions.keys()].join('-')}`)
      .digest('hex'),
  };
}

/** Reads the extensions at the end of a message, by number; old servers omit the whole list. */
function trailingExtensions(reader: ByteReader): Map<number, Uint8Array> {
  if (reader.left === 0) return new Map();
  const list = reader.vector16();
  if (reader.left > 0) throw malformed('bytes after the extensions');
  return readExtensions(list);
}

/** Reads a list of extensions by number, in order. */
export function readExtensions(bytes: Uint8Array): Map<number, Uint8Array> {
  const extensions = new Map<number, Uint8Array>();
  const list = new ByteReader(bytes, 'the list of extensions');
  while (list.left > 0) {
    const type = list.uint16();
    if (extensions.has(type)) throw malformed(`the extension ${type} is duplicated`);
    extensions.set(type, list.vector16());
  }
  return extensions;
}

/** Returns the protocol that a server chose; null if it chose none. */
export function readAlpn(content: Uint8Array | undefined): string | null {
  if (content === undefined) return null;
  const names = new ByteReader(new ByteReader(content, 'the protocol').vector16(), 'the protocol');
  return Buffer.from(names.vector8())
    .toString('latin1')
    .replaceAll(/[^\x20-\x7e]/g, '.');
}

function chosenVersion(legacyVersion: number, supported: Uint8Array | undefined): TlsVersion {
  const wire = supported === undefined ? legacyVersion : new ByteReader(supported, 'the version').uint16();
  const version = versionOf(wire);
  if (version === null) throw malformed(`version 0x${wire.toString(16).padStart(4, '0')}`);
  return version;
}

function readKeyShare(content: Uint8Array | undefined, isRetry: boolean): Pick<ServerHello, 'group' | 'key'> {
  if (content === undefined) return { group: null, key: null };
  const reader = new ByteReader(content, 'the key share');
  const group = reader.uint16();
  return { group, key: isRetry ? null : Buffer.from(reader.vector16()) };
}

function readCookie(content: Uint8Array | undefined): Uint8Array | null {
  return content === undefined ? null : Buffer.from(new ByteReader(content, 'the cookie').vector16());
}
