import { formatGroups, formatIpv4 } from '@heddle/base/net/address';
import { TYPE_CODES } from './codes.ts';
import type { Answers } from './decode.ts';
import type { MessageReader } from './reader.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads the data of one record into the member of its type.
 *
 * @param end offset at which the data must end; anything else is a fault
 * @returns false for an unsupported type
 */
export function readRdata(reader: MessageReader, typeCode: number, end: number, into: Answers): boolean {
  const length = end - reader.position;
  switch (typeCode) {
    case TYPE_CODES.A:
      (into.a ??= []).push(readIpv4(reader, length));
      break;
    case TYPE_CODES.AAAA:
      (into.aaaa ??= []).push(readIpv6(reader, length));
      break;
    case TYPE_CODES.CNAME:
      (into.cname ??= []).push(reader.readName());
      break;
    case TYPE_CODES.NS:
      (into.ns ??= []).push(reader.readName());
      break;
    case TYPE_CODES.PTR:
      (into.ptr ??= []).push(reader.readName());
      break;
    case TYPE_CODES.MX:
      (into.mx ??= []).push({ preference: reader.read16(), exchange: reader.readName() });
      break;
    case TYPE_CODES.TXT:
      (into.txt ??= []).push(readTexts(reader, end));
      break;
    case TYPE_CODES.SOA:
      (into.soa ??= []).push({
        mname: reader.readName(),
        rname: reader.readName(),
        serial: reader.read32(),
        refresh: reader.read32(),
        retry: reader.read32(),
        expire: reader.read32(),
        minimum: reader.read32(),
      });
      break;
    case TYPE_CODES.SRV:
      (into.srv ??= []).push({
        priority: reader.read16(),
        weight: reader.read16(),
        port: reader.read16(),
        target: reader.readName(),
      });
      break;
    case TYPE_CODES.CAA:
      readCaa(reader, end, into);
      break;
    default:
      return false;
  }
  if (reader.position !== end) reader.fail('rdata_length_wrong');
  return true;
}

function readIpv4(reader: MessageReader, length: number): string {
  if (length !== 4) {
    reader.fail('rdata_length_wrong');
    return '';
  }
  const { bytes, position } = reader;
  reader.position = position + 4;
  return `${bytes[position]!}.${bytes[position + 1]!}.${bytes[position + 2]!}.${bytes[position + 3]!}`;
}

/** Shows the IPv4 address in a mapped one, as the operating system does. */
function readIpv6(reader: MessageReader, length: number): string {
  if (length !== 16) {
    reader.fail('rdata_length_wrong');
    return '';
  }
  const groups: number[] = [];
  for (let index = 0; index < 8; index++) groups.push(reader.read16());
  const isMapped = groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
  return isMapped ? `::ffff:${formatIpv4(groups[6]! * 0x1_0000 + groups[7]!)}` : formatGroups(groups);
}

/** Joins the strings of one record without a separator. */
function readTexts(reader: MessageReader, end: number): string {
  const { bytes } = reader;
  const joined: number[] = [];
  while (reader.position < end) {
    const length = bytes[reader.position]!;
    const from = reader.position + 1;
    reader.position = from + length;
    if (reader.position > end) {
      reader.fail('rdata_length_wrong');
      return '';
    }
    for (let at = from; at < from + length; at++) joined.push(bytes[at]!);
  }
  return printable(Uint8Array.from(joined));
}

function readCaa(reader: MessageReader, end: number, into: Answers): void {
  const flags = reader.read8();
  const tagLength = reader.read8();
  const valueAt = reader.position + tagLength;
  if (valueAt > end || reader.fault !== null) {
    reader.fail('rdata_length_wrong');
    return;
  }
  const tag = printable(reader.bytes.subarray(reader.position, valueAt)).toLowerCase();
  const value = printable(reader.bytes.subarray(valueAt, end));
  (into.caa ??= []).push({ flags, tag, value });
  reader.position = end;
}

/** Returns printable text: backslashes are doubled; control characters and invalid UTF-8 become `\ddd`. */
function printable(bytes: Uint8Array): string {
  try {
    return utf8
      .decode(bytes)
      .replace(/\\/g, '\\\\')
      .replace(/[\x00-\x1f\x7f]/g, decimal);
  } catch {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
    return text.replace(/\\/g, '\\\\').replace(/[\x00-\x1f\x7f-\xff]/g, decimal);
  }
}

function decimal(character: string): string {
  return `\\${String(character.charCodeAt(0)).padStart(3, '0')}`;
}
