/** An invalid DER value. */
export class DerFault extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'DerFault';
  }
}

export const DER_TAG = {
  boolean: 0x01,
  integer: 0x02,
  bit_string: 0x03,
  octet_string: 0x04,
  null: 0x05,
  oid: 0x06,
  utc_time: 0x17,
  generalized_time: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

export interface DerValue {
  readonly tag: number;
  readonly content: Uint8Array;
  /** Tag, length and content. */
  readonly raw: Uint8Array;
}

/** Reads the values of one constructed value in sequence; never past its end, never recursively. */
export class DerReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get hasMore(): boolean {
    return this.#at < this.#bytes.length;
  }

  /** Returns the tag of the next value; null at the end. */
  get nextTag(): number | null {
    return this.#bytes[this.#at] ?? null;
  }

  next(): DerValue {
    const start = this.#at;
    const tag = this.#byte();
    if ((tag & 0x1f) === 0x1f) throw new DerFault('a tag of many bytes');
    const length = this.#length();
    const from = this.#at;
    if (length > this.#bytes.length - from) throw new DerFault('a value beyond the end');
    this.#at = from + length;
    return { tag, content: this.#bytes.subarray(from, this.#at), raw: this.#bytes.subarray(start, this.#at) };
  }

  expect(tag: number): DerValue {
    const value = this.next();
    if (value.tag !== tag) throw new DerFault(`the tag ${value.tag} instead of ${tag}`);
    return value;
  }

  /** Returns the next value if it has this tag; else null without reading. */
  optional(tag: number): DerValue | null {
    return this.nextTag === tag ? this.next() : null;
  }

  sequence(): DerReader {
    return new DerReader(this.expect(DER_TAG.sequence).content);
  }

  #length(): number {
    const first = this.#byte();
    if (first < 0x80) return first;
    const count = first & 0x7f;
    if (count === 0 || count > 3) throw new DerFault('a length that is not definite, or too long');
    let length = 0;
    for (let index = 0; index < count; index++) length = (length << 8) | this.#byte();
    return length;
  }

  #byte(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw new DerFault('cut off');
    this.#at += 1;
    return byte;
  }
}

const ARC_DIGITS_MAX = 40;

/** Returns an object identifier in dotted form. */
export function oidText(content: Uint8Array): string {
  const arcs: string[] = [];
  let arc = 0n;
  for (const byte of content) {
    arc = (arc << 7n) | BigInt(byte & 0x7f);
    if (arc > 10n ** BigInt(ARC_DIGITS_MAX)) throw new DerFault('an identifier beyond all bounds');
    if ((byte & 0x80) !== 0) continue;
    if (arcs.length === 0) {
      const root = arc < 80n ? arc / 40n : 2n;
      arcs.push(String(root), String(arc - root * 40n));
    } else arcs.push(String(arc));
    arc = 0n;
  }
  return arcs.join('.');
}

/** Converts UTCTime and GeneralizedTime to ISO 8601 with milliseconds. */
export function timeText({ tag, content }: DerValue): string {
  if (tag !== DER_TAG.utc_time && tag !== DER_TAG.generalized_time) throw new DerFault('a time of no known form');
  const yearDigits = tag === DER_TAG.utc_time ? 2 : 4;
  const text = Buffer.from(content).toString('latin1');
  const match = new RegExp(`^(\\d{${yearDigits}})(\\d\\d)(\\d\\d)(\\d\\d)(\\d\\d)(\\d\\d)?(?:\\.\\d+)?Z$`).exec(text);
  if (match === null) throw new DerFault('a time of no known form');
  const [year, month, day, hour, minute, second] = match
    .slice(1)
    .map((digits: string | undefined) => Number(digits ?? 0));
  const century = yearDigits === 4 ? 0 : year! < 50 ? 2000 : 1900;
  const time = new Date(0);
  time.setUTCFullYear(year! + century, month! - 1, day);
  time.setUTCHours(hour!, minute, second);
  return time.toISOString();
}

/** Decodes the string types used in names. */
export function stringText({ tag, content }: DerValue): string {
  const bytes = Buffer.from(content);
  switch (tag) {
    case 0x1e: // BMPString: UTF-16, big end first.
      return bytes.length % 2 === 0 ? bytes.swap16().toString('utf16le') : bytes.toString('latin1');
    case 0x0c:
      return bytes.toString('utf8');
    default:
      return bytes.toString('latin1');
  }
}
