import { DER_TAG, DerReader, oidText, stringText } from './der.ts';
import { ATTRIBUTE_NAMES } from './object-identifiers.ts';

const COMMON_NAME = '2.5.4.3';
const ORGANIZATION = '2.5.4.10';
const VALUE_CHARACTERS_MAX = 1024;
const ATTRIBUTES_MAX = 64;

/** Returns a name in RFC 4514 form: last attribute first, `CN=example.org,O=Example,C=CH`. */
export function distinguishedName(content: Uint8Array): string {
  const relative = attributesOf(content).map((attributes) =>
    attributes.map(({ oid, text }) => `${ATTRIBUTE_NAMES[oid] ?? oid}=${escaped(text)}`).join('+'),
  );
  return relative.toReversed().join(',');
}

/** Returns the last common name, which is the most specific one. */
export function commonNameOf(content: Uint8Array): string | null {
  return valuesOf(content, COMMON_NAME).at(-1) ?? null;
}

/** Returns the organizations of a name, in its order. */
export function organizationsOf(content: Uint8Array): string[] {
  return valuesOf(content, ORGANIZATION);
}

function valuesOf(content: Uint8Array, wanted: string): string[] {
  return attributesOf(content).flatMap((attributes) =>
    attributes.filter(({ oid }) => oid === wanted).map(({ text }) => text),
  );
}

function attributesOf(content: Uint8Array): { oid: string; text: string }[][] {
  const parts: { oid: string; text: string }[][] = [];
  const sets = new DerReader(content);
  while (sets.hasMore && parts.length < ATTRIBUTES_MAX) {
    const set = new DerReader(sets.expect(DER_TAG.set).content);
    const attributes: { oid: string; text: string }[] = [];
    while (set.hasMore && attributes.length < ATTRIBUTES_MAX) {
      const attribute = set.sequence();
      const oid = oidText(attribute.expect(DER_TAG.oid).content);
      attributes.push({ oid, text: printable(stringText(attribute.next()).slice(0, VALUE_CHARACTERS_MAX)) });
    }
    parts.push(attributes);
  }
  return parts;
}

/** Removes control characters, since terminals and tables show these strings. */
export function printable(text: string): string {
  return text.replaceAll(/\p{Cc}|\p{Cs}/gu, '\ufffd');
}

function escaped(text: string): string {
  return text
    .replaceAll(/[\\,+"<>;=]/g, '\\$&')
    .replace(/^[ #]/, '\\$&')
    .replace(/ $/, '\\ ');
}
