import { chmodSync, writeFileSync } from 'node:fs';

import { defineEvent } from '@heddle/kit/event';

/** Load address of the program. */
const BASE = 0x40_0000;
const HEADERS_BYTES = 64 + 56;

/** Builds an x86-64 program that makes one system call and exits with its error number; 0 on success. */
function programOf(call: number, args: readonly number[]): Buffer {
  const immediate = (value: number): Buffer => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value >>> 0);
    return bytes;
  };
  const [a = 0, b = 0, c = 0, d = 0] = args;
  const code = Buffer.concat([
    ...[Buffer.from([0xb8]), immediate(call), Buffer.from([0xbf]), immediate(a), Buffer.from([0xbe]), immediate(b)],
    ...[Buffer.from([0xba]), immediate(c), Buffer.from([0x41, 0xba]), immediate(d)],
    // xor r8d, r8d; xor r9d, r9d; syscall
    Buffer.from([0x45, 0x31, 0xc0, 0x45, 0x31, 0xc9, 0x0f, 0x05]),
    // cmp rax, -4095; jae +2; xor eax, eax; neg eax; mov edi, eax; mov eax, 60 (exit); syscall
    Buffer.from([
      0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff, 0x73, 0x02, 0x31, 0xc0, 0xf7, 0xd8, 0x89, 0xc7, 0xb8, 60, 0, 0, 0, 0x0f, 0x05,
    ]),
  ]);
  const header = Buffer.alloc(HEADERS_BYTES);
  header.write('\x7fELF\x02\x01\x01', 0, 'latin1');
  header.writeUInt16LE(2, 16);
  header.writeUInt16LE(0x3e, 18);
  header.writeUInt32LE(1, 20);
  header.writeBigUInt64LE(BigInt(BASE + HEADERS_BYTES), 24);
  header.writeBigUInt64LE(64n, 32);
  header.writeUInt16LE(64, 52);
  header.writeUInt16LE(56, 54);
  header.writeUInt16LE(1, 56);
  header.writeUInt32LE(1, 64);
  header.writeUInt32LE(5, 68);
  header.writeBigUInt64LE(BigInt(BASE), 80);
  header.writeBigUInt64LE(BigInt(BASE), 88);
  header.writeBigUInt64LE(BigInt(HEADERS_BYTES + code.length), 96);
  header.writeBigUInt64LE(BigInt(HEADERS_BYTES + code.length), 104);
  header.writeBigUInt64LE(0x1000n, 112);
  return Buffer.concat([header, code]);
}

/** Runs a native program that makes the call; the exit code is the result. */
export default defineEvent({
  name: 'kernel.call',
  run: (args) => {
    writeFileSync('program', programOf(args['call'] as number, args['parameters'] as number[]));
    chmodSync('program', 0o755);
    process.execve?.(`${process.cwd()}/program`, ['program'], {});
  },
});
