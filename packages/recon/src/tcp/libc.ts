import { endianness } from 'node:os';

import { messageOf } from '@heddle/base/thrown';
import type * as Koffi from 'koffi';

/** C library calls, with pointers as typed array memory. Each returns -1 on failure; `errno` has the code. */
export interface Libc {
  socket(family: number, type: number, protocol: number): number;
  close(fd: number): number;
  setsockopt(fd: number, level: number, name: number, value: Uint8Array, bytes: number): number;
  connect(fd: number, address: Uint8Array, bytes: number): number;
  getsockname(fd: number, address: Uint8Array, bytes: Uint8Array): number;
  sendmmsg(fd: number, messages: Uint8Array, count: number, flags: number): number;
  recvmmsg(fd: number, messages: Uint8Array, count: number, flags: number, timeout: null): number;
  poll(entries: Uint8Array, count: number, timeoutMs: number): number;
  /** Code of the last failed call. */
  errno(): number;
  /** Address of the memory, which does not move while the array is referenced. */
  address(memory: Uint8Array): bigint;
}

export const AF_INET = 2;
export const AF_INET6 = 10;
export const SOCK_STREAM = 1;
export const SOCK_DGRAM = 2;
export const SOCK_RAW = 3;
export const SOCK_NONBLOCK = 0o4000;
export const SOCK_CLOEXEC = 0o2000000;
export const MSG_DONTWAIT = 0x40;

export const SOL_SOCKET = 1;

export const EPERM = 1;
export const EAGAIN = 11;
export const ENOMEM = 12;
export const EACCES = 13;
export const ENOBUFS = 105;
export const EISCONN = 106;
export const ECONNREFUSED = 111;
export const EALREADY = 114;
export const EINPROGRESS = 115;

export type LibcAccess = { available: true; libc: Libc } | { available: false; missing: string };

/** The layout of messages on 64-bit Linux, the same for x64, arm64 and riscv64, glibc and musl. */
const ARCHITECTURES: readonly string[] = ['x64', 'arm64', 'riscv64', 'loong64'];

/** Binds this process's C library through koffi, or reports what is missing. */
export async function openLibc(): Promise<LibcAccess> {
  const missing = (text: string): LibcAccess => ({ available: false, missing: text });
  if (process.platform !== 'linux') return missing(`raw sockets require Linux, and this is ${process.platform}`);
  if (!ARCHITECTURES.includes(process.arch) || endianness() !== 'LE') {
    return missing(`raw sockets require a 64-bit machine, and this is ${process.arch}`);
  }
  try {
    return { available: true, libc: bind(await import('koffi')) };
  } catch (error) {
    const reason = messageOf(error);
    return missing(`the optional package koffi cannot be loaded (npm install koffi): ${reason}`);
  }
}

function bind(koffi: typeof Koffi): Libc {
  const library = koffi.load(null);
  return {
    socket: library.func('int socket(int family, int type, int protocol)'),
    close: library.func('int close(int fd)'),
    setsockopt: library.func('int setsockopt(int fd, int level, int name, void *value, uint32_t bytes)'),
    connect: library.func('int connect(int fd, void *address, uint32_t bytes)'),
    getsockname: library.func('int getsockname(int fd, void *address, void *bytes)'),
    sendmmsg: library.func('int sendmmsg(int fd, void *messages, uint32_t count, int flags)'),
    recvmmsg: library.func('int recvmmsg(int fd, void *messages, uint32_t count, int flags, void *timeout)'),
    poll: library.func('int poll(void *entries, unsigned long count, int timeout)'),
    errno: () => koffi.errno(),
    address: (memory: Uint8Array) => koffi.address(memory),
  };
}
