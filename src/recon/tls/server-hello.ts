import { createHash } from 'node:crypto';

import type { TlsVersion } from '../records.ts';
import { ByteReader } from './byte-reader.ts';
import { malformed } from './fault.ts';
import { EXTENSION, versionOf } from './protocol.ts';

export interface ServerHello {
  readonly version: TlsVersion;
  readonly cipher: number;
  /** Numbers of the extensions in the order in which the server sent them. */
  readonly extensions: readonly number[];
  /** Before TLS 1.3 only; null where none was chosen. */
  readonly alpn: string | null;
  /** Asks for another offer (HelloRetryRequest); version and cipher are settled by it. */
  readonly is_retry: boolean;
  /** The group of the key exchange that the server chose, or asks for. */
  readonly group: number | null;
  /** The server's half of the key exchange; null before TLS 1.3. */
  readonly key: Uint8Array | null;
  readonly cookie: Uint8Array | null;
  /** MD5 of version, cipher and extensions in the form of JA3S. */
  readonly ja3s_hash: string;
}

/** SHA-256 of "HelloRetryRequest": the random by which that message is known (RFC 8446, 4.1.3). */
const RETRY_RANDOM = createHash('sha256').update('HelloRetryRequest').digest();

/** @throws TlsFault where the body of the message is not a ServerHello of a version that there is */
export function parseServerHello(body: Uint8Array): ServerHello {
  const reader = new ByteReader(body, 'the ServerHello');
  const legacyVersion = reader.uint16();
  const random = reader.take(32);
  if (reader.vector8().length > 32) throw malformed('the session number is longer than 32 bytes');
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

/** The extensions at the end of a message, by number; old servers leave the whole list out. */
function trailingExtensions(reader: ByteReader): Map<number, Uint8Array> {
  if (reader.left === 0) return new Map();
  const list = reader.vector16();
  if (reader.left > 0) throw malformed('bytes after the extensions');
  return readExtensions(list);
}

/** A list of extensions by number, in the order in which they came. */
export function readExtensions(bytes: Uint8Array): Map<number, Uint8Array> {
  const extensions = new Map<number, Uint8Array>();
  const list = new ByteReader(bytes, 'the list of extensions');
  while (list.left > 0) {
    const type = list.uint16();
    if (extensions.has(type)) throw malformed(`the extension ${type} stands twice`);
    extensions.set(type, list.vector16());
  }
  return extensions;
}

/** The one protocol that a server names; null where it named none. */
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
