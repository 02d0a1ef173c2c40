import { TRY_MASK } from './filters.ts';
import type { Answer } from './wire.ts';

/** A SYN: the header and the segment size option, without which some hosts do not answer. */
export const SEGMENT_BYTES = 24;
export const CHECKSUM_AT = 16;

const OFFSET_AND_FLAGS = 0x6002;
const WINDOW = 64_240;
const MSS_KIND_AND_LENGTH = 0x0204;
const MSS = 1460;

const SYN = 0x02;
const RST = 0x04;
const ACK = 0x10;

/** The constant part of every segment's checksum. */
export const CONSTANT_SUM = OFFSET_AND_FLAGS + WINDOW + MSS_KIND_AND_LENGTH + MSS;

/** Writes a SYN without its checksum. */
export function writeSegment(view: DataView, at: number, from: number, to: number, sequence: number): void {
  view.setUint16(at, from, false);
  view.setUint16(at + 2, to, false);
  view.setUint32(at + 4, sequence, false);
  view.setUint32(at + 8, 0, false);
  view.setUint16(at + 12, OFFSET_AND_FLAGS, false);
  view.setUint16(at + 14, WINDOW, false);
  view.setUint32(at + 16, 0, false);
  view.setUint16(at + 20, MSS_KIND_AND_LENGTH, false);
  view.setUint16(at + 22, MSS, false);
}

/** Reads an answer's header; returns false if it answers no SYN of ours. */
export function readSegment(view: DataView, at: number, answer: Answer): boolean {
  const flags = view.getUint8(at + 13);
  if ((flags & ACK) === 0) return false;
  if ((flags & RST) !== 0) answer.type = 'rst';
  else if ((flags & SYN) !== 0) answer.type = 'syn-ack';
  else return false;
  answer.port = view.getUint16(at, false);
  answer.attempt = view.getUint16(at + 2, false) & TRY_MASK;
  answer.sequence = (view.getUint32(at + 8, false) - 1) >>> 0;
  return true;
}

/** Reads the first eight bytes of our segment, as returned by an ICMP message. */
export function readReturnedSegment(view: DataView, at: number, answer: Answer): void {
  answer.type = 'unreachable';
  answer.attempt = view.getUint16(at, false) & TRY_MASK;
  answer.port = view.getUint16(at + 2, false);
  answer.sequence = view.getUint32(at + 4, false);
}
