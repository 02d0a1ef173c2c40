import { AF_INET6 } from '../libc.ts';
import type { RawSocket } from './raw-socket.ts';
import { CHECKSUM_AT, readReturnedSegment, readSegment, SEGMENT_BYTES, writeSegment } from './tcp-segment.ts';
import { Wire, type WireParts } from './wire.ts';

const IPPROTO_ICMPV6 = 58;
const IPPROTO_IPV6 = 41;
const IPV6_CHECKSUM = 7;
const ADDRESS_BYTES = 28;
const IP_HEADER_BYTES = 40;
const ICMP_HEADER_BYTES = 8;
const TCP_HEADER_BYTES = 20;

/**
 * IPv6: the system writes the IP header and the checksum; answers arrive without the header, so the sender is queried.
 */
export class WireIpv6 extends Wire {
  constructor(parts: WireParts) {
    super(parts, 6, ADDRESS_BYTES, SEGMENT_BYTES, IPPROTO_ICMPV6);
  }

  protected prepare(socket: RawSocket): void {
    if (socket.option(IPPROTO_IPV6, IPV6_CHECKSUM, CHECKSUM_AT) < 0) {
      throw new Error('the system does not write checksums of raw IPv6 packets');
    }
    for (let index = 0; index < this.outgoing.count; index++) {
      this.outgoing.names.setUint16(ADDRESS_BYTES * index, AF_INET6, true);
    }
  }

  protected write(
    index: number,
    words: Uint32Array,
    at: number,
    probe: { port: number; attempt: number; sequence: number; scope: number },
  ): boolean {
    const segment = SEGMENT_BYTES * index;
    writeSegment(this.outgoing.data, segment, this.portBase + probe.attempt, probe.port, probe.sequence);
    const address = ADDRESS_BYTES * index;
    const { names } = this.outgoing;
    for (let word = 0; word < 4; word++) names.setUint32(address + 8 + 4 * word, words[at + word]!, false);
    names.setUint32(address + 24, probe.scope, true);
    return true;
  }

  protected readTcp(index: number, bytes: number): boolean {
    if (bytes < TCP_HEADER_BYTES) return false;
    const address = ADDRESS_BYTES * index + 8;
    for (let word = 0; word < 4; word++) {
      this.answer.words[word] = this.incoming.names.getUint32(address + 4 * word, false);
    }
    return readSegment(this.incoming.data, this.incoming.dataBytes * index, this.answer);
  }

  protected readIcmp(index: number, bytes: number): boolean {
    if (bytes < ICMP_HEADER_BYTES + IP_HEADER_BYTES + 8) return false;
    const { data, dataBytes } = this.incoming;
    const at = dataBytes * index;
    const inner = at + ICMP_HEADER_BYTES;
    this.answer.code = data.getUint8(at + 1);
    for (let word = 0; word < 4; word++) this.answer.words[word] = data.getUint32(inner + 24 + 4 * word, false);
    readReturnedSegment(data, inner + IP_HEADER_BYTES, this.answer);
    return true;
  }
}
