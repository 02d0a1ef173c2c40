import { formatGroups } from '@heddle/base/net/address';
import { DER_TAG, DerReader, oidText } from './der.ts';
import { printable } from './distinguished-name.ts';

/** The extensions of a certificate that affect a client. */
export interface CertificateExtensions {
  /** DNS names and addresses. */
  readonly names: readonly string[];
  readonly dns_names: readonly string[];
  readonly addresses: readonly string[];
  /** Whether it may sign certificates. Certificates before version 3 cannot declare it. */
  readonly is_authority: boolean;
  /** Maximum number of authorities below this one; null: any number. */
  readonly path_length: number | null;
  /** Whether it is valid for servers: declared so, or without declared usages. */
  readonly is_for_servers: boolean;
}

const SUBJECT_ALTERNATIVE_NAME = '2.5.29.17';
const BASIC_CONSTRAINTS = '2.5.29.19';
const EXTENDED_KEY_USAGE = '2.5.29.37';
const ANY_USAGE = '2.5.29.37.0';
const SERVER_USAGE = '1.3.6.1.5.5.7.3.1';

const DNS_NAME_TAG = 0x82;
const ADDRESS_TAG = 0x87;
const NAMES_MAX = 1000;
const EXTENSIONS_MAX = 100;
const NAME_CHARACTERS_MAX = 255;

export function parseExtensions(list: DerReader): CertificateExtensions {
  const contents = contentsOf(list);
  const dns_names: string[] = [];
  const addresses: string[] = [];
  for (const [tag, content] of alternativeNames(contents.get(SUBJECT_ALTERNATIVE_NAME))) {
    if (tag === DNS_NAME_TAG) {
      const name = Buffer.from(content.subarray(0, NAME_CHARACTERS_MAX)).toString('latin1');
      dns_names.push(printable(name));
    } else if (tag === ADDRESS_TAG) addresses.push(addressText(content));
  }
  return {
    names: [...dns_names, ...addresses],
    dns_names,
    addresses,
    ...constraintsOf(contents.get(BASIC_CONSTRAINTS)),
    is_for_servers: isForServers(contents.get(EXTENDED_KEY_USAGE)),
  };
}

/** Indexes by identifier; of duplicates, the first counts. */
function contentsOf(list: DerReader): Map<string, Uint8Array> {
  const contents = new Map<string, Uint8Array>();
  for (let count = 0; list.hasMore && count < EXTENSIONS_MAX; count++) {
    const extension = list.sequence();
    const oid = oidText(extension.expect(DER_TAG.oid).content);
    extension.optional(DER_TAG.boolean);
    const { content } = extension.expect(DER_TAG.octet_string);
    if (!contents.has(oid)) contents.set(oid, content);
  }
  return contents;
}

function* alternativeNames(content: Uint8Array | undefined): Generator<[number, Uint8Array]> {
  if (content === undefined) return;
  const names = new DerReader(content).sequence();
  for (let count = 0; names.hasMore && count < NAMES_MAX; count++) {
    const name = names.next();
    yield [name.tag, name.content];
  }
}

function constraintsOf(content: Uint8Array | undefined): Pick<CertificateExtensions, 'is_authority' | 'path_length'> {
  if (content === undefined) return { is_authority: false, path_length: null };
  const constraints = new DerReader(content).sequence();
  const authority = constraints.optional(DER_TAG.boolean);
  const length = constraints.optional(DER_TAG.integer);
  return {
    is_authority: authority !== null && authority.content[0] !== 0,
    path_length: length?.content.length === 1 ? length.content[0]! : null,
  };
}

function isForServers(content: Uint8Array | undefined): boolean {
  if (content === undefined) return true;
  const usages = new DerReader(content).sequence();
  for (let count = 0; usages.hasMore && count < EXTENSIONS_MAX; count++) {
    const usage = oidText(usages.expect(DER_TAG.oid).content);
    if (usage === SERVER_USAGE || usage === ANY_USAGE) return true;
  }
  return false;
}

/** Returns an address as text; hexadecimal digits if its length is invalid. */
function addressText(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.');
  if (bytes.length !== 16) return Buffer.from(bytes.subarray(0, 32)).toString('hex');
  const words = Array.from({ length: 8 }, (_, index) => (bytes[index * 2]! << 8) | bytes[index * 2 + 1]!);
  return formatGroups(words);
}
