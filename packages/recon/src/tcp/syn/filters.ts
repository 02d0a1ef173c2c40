/** Classic BPF for SO_ATTACH_FILTER: packets of no interest to the scan are dropped before they are queued. */
interface Instruction {
  code: number;
  k: number;
  /** Instructions to skip if a condition holds, and if it does not. */
  jt?: number;
  jf?: number;
}

const LOAD_HEADER_LENGTH = 0xb1;
const LOAD_BYTE = 0x30;
const LOAD_HALF = 0x28;
const LOAD_BYTE_AFTER = 0x50;
const LOAD_HALF_AFTER = 0x48;
const AND = 0x54;
const JUMP_EQUAL = 0x15;
const JUMP_SET = 0x45;
const RETURN = 0x06;

const TCP = 6;
const ACK = 0x10;
const KEEP_BYTES = 256;

/** Source ports of one scan: a block of 16, whose last four bits encode the attempt. */
export const TRY_MASK = 0x000f;
const BLOCK_MASK = 0xffff & ~TRY_MASK;

/** A load, and the condition on the loaded value. */
interface Check {
  load: Instruction;
  test: 'equal' | 'set';
  value: number;
  mask?: number;
}

function program(checks: readonly Check[], setup: readonly Instruction[]): Instruction[] {
  const body: Instruction[] = [...setup];
  const conditions: number[] = [];
  for (const { load, test, value, mask } of checks) {
    body.push(load);
    if (mask !== undefined) body.push({ code: AND, k: mask });
    conditions.push(body.length);
    body.push({ code: test === 'equal' ? JUMP_EQUAL : JUMP_SET, k: value });
  }
  const dropAt = body.length + 1;
  for (const at of conditions) body[at] = { ...body[at]!, jt: 0, jf: dropAt - at - 1 };
  return [...body, { code: RETURN, k: KEEP_BYTES }, { code: RETURN, k: 0 }];
}

/** Accepts answers to our ports; raw IPv4 sockets see the IP header, raw IPv6 sockets do not. */
export function tcpFilter(family: 4 | 6, portBase: number): Instruction[] {
  const after = family === 4;
  return program(
    [
      { load: { code: after ? LOAD_HALF_AFTER : LOAD_HALF, k: 2 }, test: 'equal', value: portBase, mask: BLOCK_MASK },
      { load: { code: after ? LOAD_BYTE_AFTER : LOAD_BYTE, k: 13 }, test: 'set', value: ACK },
    ],
    after ? [{ code: LOAD_HEADER_LENGTH, k: 0 }] : [],
  );
}

/** Accepts "destination unreachable" about packets from our ports. */
export function icmpFilter(family: 4 | 6, portBase: number): Instruction[] {
  if (family === 4) {
    return program(
      [
        { load: { code: LOAD_BYTE_AFTER, k: 0 }, test: 'equal', value: 3 },
        { load: { code: LOAD_BYTE_AFTER, k: 17 }, test: 'equal', value: TCP },
        { load: { code: LOAD_HALF_AFTER, k: 28 }, test: 'equal', value: portBase, mask: BLOCK_MASK },
      ],
      [{ code: LOAD_HEADER_LENGTH, k: 0 }],
    );
  }
  return program(
    [
      { load: { code: LOAD_BYTE, k: 0 }, test: 'equal', value: 1 },
      { load: { code: LOAD_BYTE, k: 14 }, test: 'equal', value: TCP },
      { load: { code: LOAD_HALF, k: 48 }, test: 'equal', value: portBase, mask: BLOCK_MASK },
    ],
    [],
  );
}

/** Encodes as `struct sock_filter[]`. */
export function encodeFilter(instructions: readonly Instruction[]): Uint8Array {
  const bytes = new Uint8Array(8 * instructions.length);
  const view = new DataView(bytes.buffer);
  instructions.forEach(({ code, k, jt, jf }, index) => {
    view.setUint16(8 * index, code, true);
    view.setUint8(8 * index + 2, jt ?? 0);
    view.setUint8(8 * index + 3, jf ?? 0);
    view.setUint32(8 * index + 4, k, true);
  });
  return bytes;
}
