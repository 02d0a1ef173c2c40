import type { Random } from '@heddle/base/random';

/** Boundary values for lengths and numbers. */
const EDGES = [
  0, 1, 2, 7, 8, 0x7f, 0x80, 0xff, 0x100, 0x3fff, 0x4000, 0x4001, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff,
];
const MUTATIONS_MAX = 6;

export function below(random: Random, limit: number): number {
  return Math.floor(random.next() * limit);
}

export function pick<T>(random: Random, choices: readonly T[]): T {
  return choices[below(random, choices.length)]!;
}

/** Damages bytes in a few places; `words` of the format are inserted where they do not belong. */
export function mutate(bytes: Buffer, random: Random, words: readonly string[]): Buffer {
  let damaged: Buffer = Buffer.from(bytes);
  for (let left = 1 + below(random, MUTATIONS_MAX); left > 0; left -= 1) damaged = mutateOnce(damaged, random, words);
  return damaged;
}

function mutateOnce(bytes: Buffer, random: Random, words: readonly string[]): Buffer {
  const at = below(random, bytes.length + 1);
  const until = Math.min(bytes.length, at + below(random, 32));
  switch (below(random, 8)) {
    case 0:
      if (at < bytes.length) bytes[at] = bytes[at]! ^ (1 << below(random, 8));
      return bytes;
    case 1:
      if (at < bytes.length) bytes[at] = below(random, 256);
      return bytes;
    case 2:
      return bytes.subarray(0, at);
    case 3:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(until)]);
    case 4:
      return Buffer.concat([bytes.subarray(0, until), bytes.subarray(at)]);
    case 5:
      return Buffer.concat([bytes.subarray(0, at), Buffer.from(pick(random, words)), bytes.subarray(until)]);
    case 6:
      return Buffer.concat([bytes.subarray(0, at), Buffer.from(random.bytes(below(random, 16))), bytes.subarray(at)]);
    default:
      if (at + 4 <= bytes.length) bytes.writeUInt32BE(pick(random, EDGES), at);
      return bytes;
  }
}

/** Splits bytes like a network, into pieces of any size. */
export function* pieces(bytes: Buffer, random: Random): Generator<Buffer> {
  const largest = bytes.length < 700 ? pick(random, [1, 3, 17, 200]) : pick(random, [17, 200, 1_000]);
  for (let at = 0; at < bytes.length;) {
    const end = Math.min(bytes.length, at + 1 + below(random, largest));
    // Each piece in separate memory, like data from a socket.
    yield Buffer.from(bytes.subarray(at, end));
    at = end;
  }
}

/** Strings, some of which are known to cause trouble. */
export function text(random: Random): string {
  const length = below(random, 40);
  switch (below(random, 5)) {
    case 0:
      return 'tester';
    case 1:
      return pick(random, [
        '',
        '__proto__',
        'constructor',
        '\u0000',
        '\ud800',
        '\ufeff',
        ']]>',
        '<!--',
        '&amp;',
        '\u{1f600}',
      ]);
    case 2:
      return Buffer.from(random.bytes(length)).toString('latin1');
    default:
      return Buffer.from(random.bytes(length)).toString('base64url');
  }
}
