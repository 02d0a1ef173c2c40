import type { DnsRecord } from '../records.ts';
import { TYPE_CODES, TYPE_OPT } from './codes.ts';
import { HEADER_BYTES } from './encode.ts';
import { readRdata } from './rdata.ts';
import { MessageReader, type MessageFault } from './reader.ts';

/** The answers for a name, after following aliases. Empty members are absent. */
export type Answers = Pick<DnsRecord, 'a' | 'aaaa' | 'cname' | 'mx' | 'ns' | 'txt' | 'soa' | 'srv' | 'caa' | 'ptr'>;

export interface DecodedResponse {
  /** Includes the upper bits from EDNS. */
  rcode: number;
  answers: Answers;
  /** The smallest TTL in seconds; null without answers. */
  ttl: number | null;
}

export type Decoded = { ok: true; response: DecodedResponse } | { ok: false; fault: MessageFault };

/** Maximum records read; a message over TCP can hold about 6,000. */
const RECORDS_MAX = 4096;
const ALIASES_MAX = 32;
const QUESTION_POINTER = 0xc00c;
const RECORD_FIXED_BYTES = 10;
const TTL_SIGN = 0x80000000;

const reader = new MessageReader();

/**
 * Decodes a response whose header and question are already matched to a query of one question. Never throws.
 *
 * @param questionEnd offset at which the question ends and the answers begin
 */
export function decodeResponse(bytes: Uint8Array, questionEnd: number): Decoded {
  if (bytes.length < HEADER_BYTES || bytes.length < questionEnd) return { ok: false, fault: 'message_too_short' };
  const count = (bytes[6]! << 8) | bytes[7]!;
  if (count > RECORDS_MAX) return { ok: false, fault: 'too_many_records' };
  const response: DecodedResponse = { rcode: bytes[3]! & 0x0f, answers: {}, ttl: null };
  reader.reset(bytes, questionEnd);
  const elsewhere = readAnswers(response, count, null);
  if (elsewhere && reader.fault === null) {
    const names = followAliases(bytes, questionEnd, count);
    response.answers = {};
    response.ttl = null;
    reader.reset(bytes, questionEnd);
    readAnswers(response, count, names);
  }
  if (reader.fault === null && response.rcode === 0 && count === 0) readExtendedCode(bytes, response);
  return reader.fault === null ? { ok: true, response } : { ok: false, fault: reader.fault };
}

/**
 * Reads the records of the queried name, or of `names` if given.
 *
 * @returns whether there were records of other names
 */
function readAnswers(response: DecodedResponse, count: number, names: ReadonlySet<string> | null): boolean {
  let elsewhere = false;
  for (let index = 0; index < count && reader.fault === null; index++) {
    const belongs = readOwner(names);
    if (!belongs) elsewhere = true;
    if (!reader.has(RECORD_FIXED_BYTES)) break;
    const typeCode = reader.read16();
    reader.position += 2;
    const ttl = reader.read32();
    const length = reader.read16();
    if (!reader.has(length)) break;
    const end = reader.position + length;
    if (belongs && readRdata(reader, typeCode, end, response.answers)) {
      const secs = ttl >= TTL_SIGN ? 0 : ttl;
      response.ttl = response.ttl === null ? secs : Math.min(response.ttl, secs);
    }
    reader.position = end;
  }
  return elsewhere;
}

/** Matches the owner of a record: most are a pointer to the question and need no decoding. */
function readOwner(names: ReadonlySet<string> | null): boolean {
  const { bytes, position } = reader;
  if (((bytes[position]! << 8) | bytes[position + 1]!) === QUESTION_POINTER) {
    reader.position += 2;
    return true;
  }
  if (names !== null) return names.has(reader.readName());
  reader.skipName();
  return false;
}

/** Returns the queried name and its aliases, in whatever order the records come. */
function followAliases(bytes: Uint8Array, questionEnd: number, count: number): Set<string> {
  reader.reset(bytes, HEADER_BYTES);
  const asked = reader.readName();
  const targets = new Map<string, string>();
  reader.reset(bytes, questionEnd);
  for (let index = 0; index < count && reader.fault === null; index++) {
    const owner = reader.readName();
    const typeCode = reader.read16();
    reader.position += 6;
    const length = reader.read16();
    const end = reader.position + length;
    if (typeCode === TYPE_CODES.CNAME) targets.set(owner, reader.readName());
    reader.position = end;
  }
  const names = new Set([asked]);
  let at: string | undefined = asked;
  while (names.size <= ALIASES_MAX && (at = targets.get(at)) !== undefined && !names.has(at)) names.add(at);
  return names;
}

/** Reads the upper bits of the response code from the OPT record; they matter only if the lower ones report success. */
function readExtendedCode(bytes: Uint8Array, response: DecodedResponse): void {
  const authority = (bytes[8]! << 8) | bytes[9]!;
  const additional = (bytes[10]! << 8) | bytes[11]!;
  if (authority + additional > RECORDS_MAX) {
    reader.fail('too_many_records');
    return;
  }
  for (let index = 0; index < authority + additional && reader.fault === null; index++) {
    reader.skipName();
    const typeCode = reader.read16();
    reader.position += 2;
    const upper = reader.read8();
    reader.position += 3;
    const length = reader.read16();
    if (!reader.has(length)) return;
    reader.position += length;
    if (typeCode === TYPE_OPT && index >= authority) response.rcode |= upper << 4;
  }
}
