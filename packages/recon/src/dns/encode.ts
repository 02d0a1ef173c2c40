import { CLASS_INTERNET, TYPE_OPT } from './codes.ts';

export const HEADER_BYTES = 12;
/** Maximum size of a UDP response: fits one packet on every path (DNS Flag Day 2020). */
const UDP_PAYLOAD_MAX = 1232;
/** The longest query: header, a name of 255 bytes, type and class, and the OPT record. */
export const QUERY_BYTES_MAX = 288;

const FLAG_RECURSION_DESIRED = 0x01;
const OPT_BYTES = 11;

/**
 * Writes a query of one question with recursion desired and EDNS0; its id is zero until `writeId`.
 *
 * @param name normalized: ASCII, labels of 1 to 63 bytes, no trailing dot
 * @returns offset at which the question ends; the OPT record of `OPT_BYTES` follows there
 */
export function writeQuery(into: Uint8Array, at: number, name: string, typeCode: number): number {
  into.fill(0, at, at + HEADER_BYTES);
  into[at + 2] = FLAG_RECURSION_DESIRED;
  into[at + 5] = 1;
  let lengthAt = at + HEADER_BYTES;
  let position = lengthAt + 1;
  for (let index = 0; index < name.length; index++) {
    const code = name.charCodeAt(index);
    if (code === 0x2e) {
      into[lengthAt] = position - lengthAt - 1;
      lengthAt = position;
    } else {
      into[position] = code;
    }
    position += 1;
  }
  into[lengthAt] = position - lengthAt - 1;
  into[position] = 0;
  position = write16(into, position + 1, typeCode);
  position = write16(into, position, CLASS_INTERNET);
  setEdns(into, at, position, true);
  return position;
}

/** Appends the OPT record to the question, or omits it; returns the end of the message. */
export function setEdns(into: Uint8Array, at: number, questionEnd: number, edns: boolean): number {
  into[at + 11] = edns ? 1 : 0;
  if (!edns) return questionEnd;
  into.fill(0, questionEnd, questionEnd + OPT_BYTES);
  write16(into, questionEnd + 1, TYPE_OPT);
  write16(into, questionEnd + 3, UDP_PAYLOAD_MAX);
  return questionEnd + OPT_BYTES;
}

export function writeId(into: Uint8Array, at: number, id: number): void {
  write16(into, at, id);
}

function write16(into: Uint8Array, at: number, value: number): number {
  into[at] = value >>> 8;
  into[at + 1] = value & 0xff;
  return at + 2;
}

/** Returns whether a response repeats the question that was asked; the case of letters may differ. */
export function sameQuestion(response: Uint8Array, query: Uint8Array, at: number, questionEnd: number): boolean {
  const length = questionEnd - at;
  if (response.length < length || response[4] !== 0 || response[5] !== 1) return false;
  for (let index = HEADER_BYTES; index < length; index++) {
    const asked = query[at + index]!;
    const got = response[index]!;
    if (asked === got) continue;
    // Type and class contain no letters, so the last four bytes are compared exactly.
    const upper = got >= 0x41 && got <= 0x5a && index < length - 4;
    if (!upper || asked !== got + 0x20) return false;
  }
  return true;
}
