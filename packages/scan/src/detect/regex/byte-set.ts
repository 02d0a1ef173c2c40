/** A set of byte values: 256 bits in eight words. */
export type ByteSet = Uint32Array;

export function emptySet(): ByteSet {
  return new Uint32Array(8);
}

export function setOf(...bytes: number[]): ByteSet {
  const set = emptySet();
  for (const byte of bytes) addByte(set, byte);
  return set;
}

export function rangeSet(...ranges: readonly (readonly [number, number])[]): ByteSet {
  const set = emptySet();
  for (const [low, high] of ranges) addRange(set, low, high);
  return set;
}

function addByte(set: ByteSet, byte: number): void {
  set[byte >> 5] = set[byte >> 5]! | (1 << (byte & 31));
}

export function addRange(set: ByteSet, low: number, high: number): void {
  for (let byte = low; byte <= high; byte++) addByte(set, byte);
}

export function addSet(set: ByteSet, other: ByteSet): void {
  for (let word = 0; word < 8; word++) set[word] = set[word]! | other[word]!;
}

export function hasByte(set: ByteSet, byte: number): boolean {
  return ((set[byte >> 5]! >>> (byte & 31)) & 1) === 1;
}

export function complement(set: ByteSet): ByteSet {
  return set.map((word) => ~word);
}

export function intersection(left: ByteSet, right: ByteSet): ByteSet {
  return left.map((word, at) => word & right[at]!);
}

export function intersects(left: ByteSet, right: ByteSet): boolean {
  for (let word = 0; word < 8; word++) if ((left[word]! & right[word]!) !== 0) return true;
  return false;
}

export function isFull(set: ByteSet): boolean {
  return set.every((word) => word === 0xffffffff);
}

export function sizeOf(set: ByteSet): number {
  let size = 0;
  for (let word of set) for (; word !== 0; word &= word - 1) size++;
  return size;
}

export function bytesOf(set: ByteSet): number[] {
  const bytes: number[] = [];
  for (let byte = 0; byte < 256; byte++) if (hasByte(set, byte)) bytes.push(byte);
  return bytes;
}

/** Returns the other case of an ASCII letter; any other byte unchanged. */
function otherCase(byte: number): number {
  const upper = byte >= 0x41 && byte <= 0x5a;
  const lower = byte >= 0x61 && byte <= 0x7a;
  return upper || lower ? byte ^ 0x20 : byte;
}

/** Converts ASCII letters to lower case; leaves other bytes unchanged. */
export function lowerCase(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
}

/** Returns the set with both cases of each of its letters. */
export function foldCase(set: ByteSet): ByteSet {
  const folded = Uint32Array.from(set);
  for (const byte of bytesOf(set)) addByte(folded, otherCase(byte));
  return folded;
}
