import { AF_INET } from '../libc.ts';
import { SourceAddresses } from './source-addresses.ts';
import {
  CHECKSUM_AT,
  CONSTANT_SUM,
  readReturnedSegment,
  readSegment,
  SEGMENT_BYTES,
  writeSegment,
} from './tcp-segment.ts';
import { IPPROTO_TCP, Wire, type WireParts } from './wire.ts';

const IPPROTO_ICMP = 1;
const ADDRESS_BYTES = 16;
const HEADER_BYTES_MIN = 20;
const TCP_HEADER_BYTES = 20;

/** IPv4: the system writes the IP header, Heddle the TCP checksum, which depends on the source address. */
export class WireIpv4 extends Wire {
  readonly #sources: SourceAddresses;

  constructor(parts: WireParts) {
    super(parts, 4, ADDRESS_BYTES, SEGMENT_BYTES, IPPROTO_ICMP);
    try {
      this.#sources = new SourceAddresses(parts.libc);
    } catch (error) {
      super.close();
      throw error;
    }
  }

  protected prepare(): void {
    for (let index = 0; index < this.outgoing.count; index++) {
      this.outgoing.names.setUint16(ADDRESS_BYTES * index, AF_INET, true);
    }
  }

  protected write(
    index: number,
    words: Uint32Array,
    at: number,
    probe: { port: number; attempt: number; sequence: number },
  ): boolean {
    const target = words[at]!;
    const source = this.#sources.to(target);
    if (source < 0) return false;
    const { port, attempt, sequence } = probe;
    const from = this.portBase + attempt;
    const segment = SEGMENT_BYTES * index;
    writeSegment(this.outgoing.data, segment, from, port, sequence);
    let sum = CONSTANT_SUM + IPPROTO_TCP + SEGMENT_BYTES + from + port;
    sum += (source >>> 16) + (source & 0xffff) + (target >>> 16) + (target & 0xffff);
    sum += (sequence >>> 16) + (sequence & 0xffff);
    sum = (sum >>> 16) + (sum & 0xffff);
    sum += sum >>> 16;
    this.outgoing.data.setUint16(segment + CHECKSUM_AT, ~sum & 0xffff, false);
    this.outgoing.names.setUint32(ADDRESS_BYTES * index + 4, target, false);
    return true;
  }

  protected readTcp(index: number, bytes: number): boolean {
    const { data, dataBytes } = this.incoming;
    const at = dataBytes * index;
    const header = 4 * (data.getUint8(at) & 0x0f);
    if (bytes < header + TCP_HEADER_BYTES) return false;
    this.answer.words[0] = data.getUint32(at + 12, false);
    return readSegment(data, at + header, this.answer);
  }

  protected readIcmp(index: number, bytes: number): boolean {
    const { data, dataBytes } = this.incoming;
    const at = dataBytes * index;
    const icmp = at + 4 * (data.getUint8(at) & 0x0f);
    const inner = icmp + 8;
    if (bytes < inner - at + HEADER_BYTES_MIN + 8) return false;
    this.answer.code = data.getUint8(icmp + 1);
    this.answer.words[0] = data.getUint32(inner + 16, false);
    readReturnedSegment(data, inner + HEADER_BYTES_MIN, this.answer);
    return true;
  }

  override close(): void {
    super.close();
    this.#sources.close();
  }
}
