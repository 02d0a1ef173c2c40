import { closeSync, readFileSync, readSync, writeFileSync, writeSync } from 'node:fs';

import { TAKEN } from '../starter/messages.ts';
import { TASK_STREAMS, ZYGOTE_FILES, type ForkOrder, type ZygoteSettings } from './messages.ts';
import type { Native } from './native.ts';

const CLONE_NEWNS = 0x0002_0000;
const CLONE_NEWCGROUP = 0x0200_0000;
const CLONE_NEWUTS = 0x0400_0000;
const CLONE_NEWIPC = 0x0800_0000;
const CLONE_NEWUSER = 0x1000_0000;
const CLONE_NEWNET = 0x4000_0000;
/** All but the PID namespace, which exists since the fork, and the user namespace, which comes last. */
const NAMESPACES = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET;

const MS_NOSUID = 2;
const MS_NODEV = 4;
const MS_NOEXEC = 8;
const MS_REC = 0x4000;
const MS_PRIVATE = 0x4_0000;

const PR_SET_PDEATHSIG = 1;
const PR_SET_DUMPABLE = 4;
const PR_SET_SECCOMP = 22;
const PR_CAPBSET_DROP = 24;
const PR_SET_NO_NEW_PRIVS = 38;
const PR_CAP_AMBIENT = 47;
const PR_CAP_AMBIENT_CLEAR_ALL = 4;
const SECCOMP_MODE_FILTER = 2;
const SIGKILL = 9;
const RLIMIT_DATA = 2;
const RLIMIT_NOFILE = 7;
/** Version 3 of the kernel's capability sets: two words of each set. */
const CAPABILITY_VERSION = 0x2008_0522;
const CAPABILITY_MAX = 63;

const AF_UNIX = 1;
const SOCK_STREAM_CLOEXEC = 0o2000001;
const PATH_OFFSET = 2;

/** Filter program in the form that the kernel reads: a count of instructions and their address. */
export interface LoadedFilter {
  readonly program: Buffer;
  readonly header: Buffer;
}

const INSTRUCTION_BYTES = 8;

export function loadedFilter(native: Native, program: Buffer): LoadedFilter {
  const header = Buffer.alloc(16);
  header.writeUInt16LE(program.length / INSTRUCTION_BYTES, 0);
  header.writeBigUInt64LE(native.address(program), 8);
  return { program, header };
}

/** Keeps mounts of task processes out of the zygote's namespace. */
export function separateMounts(native: Native): void {
  native.check('mount', null, '/', null, MS_REC | MS_PRIVATE, null);
}

/**
 * Connects the streams of a forked process to the executor in place of those of the zygote. Blocks until it has
 * accepted them.
 */
export function takeStreams(native: Native, { token }: ForkOrder): void {
  const path = Buffer.from(`/proc/self/fd/${ZYGOTE_FILES.streams}/s\0`);
  const address = Buffer.alloc(PATH_OFFSET + path.length);
  address.writeUInt16LE(AF_UNIX, 0);
  path.copy(address, PATH_OFFSET);
  const streams = Array.from({ length: TASK_STREAMS }, (_, index) => {
    const stream = native.check('socket', AF_UNIX, SOCK_STREAM_CLOEXEC, 0);
    native.check('connect', stream, address, address.length);
    writeSync(stream, `${token}${index}`);
    return stream;
  });
  const answer = Buffer.alloc(1);
  for (const stream of streams) {
    if (readSync(stream, answer) !== 1 || answer.toString() !== TAKEN) throw new Error('the executor refused a stream');
  }
  streams.forEach((stream, index) => native.check('dup2', stream, index));
  for (const stream of streams) closeSync(stream);
}

/**
 * Gives a forked process its own namespaces, temporary directory, user and limits, and takes all privileges and the
 * calls of the filter from it. Nothing of this can be undone.
 */
export function confine(
  native: Native,
  { user }: ForkOrder,
  { tmpBytes, openFiles, dataBytes }: ZygoteSettings,
  filter: LoadedFilter,
): void {
  const { check } = native;
  check('setsid');
  check('unshare', NAMESPACES);
  check('mount', 'proc', '/proc', 'proc', MS_NOSUID | MS_NODEV | MS_NOEXEC, null);
  const [uid, gid] = user === null ? [process.getuid!(), process.getgid!()] : [user, user];
  const options = `mode=0700,size=${tmpBytes},uid=${uid},gid=${gid}`;
  check('mount', 'tmpfs', '/tmp', 'tmpfs', MS_NOSUID | MS_NODEV, options);
  process.chdir('/tmp');
  setLimit(native, RLIMIT_NOFILE, openFiles);
  setLimit(native, RLIMIT_DATA, reservedBytes() + dataBytes);
  if (user !== null) {
    check('setgroups', 0, null);
    check('setresgid', user, user, user);
    check('setresuid', user, user, user);
    // As after the start of a program: the process owns its files in /proc.
    check('prctl', PR_SET_DUMPABLE, 1, 0, 0, 0);
  }
  check('unshare', CLONE_NEWUSER);
  writeFileSync('/proc/self/setgroups', 'deny');
  writeFileSync('/proc/self/uid_map', `${uid} ${uid} 1`);
  writeFileSync('/proc/self/gid_map', `${gid} ${gid} 1`);
  dropCapabilities(native);
  check('prctl', PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  check('prctl', PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  check('prctlWith', PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter.header, 0, 0);
}

function setLimit({ check }: Native, resource: number, value: number): void {
  const limit = Buffer.alloc(16);
  limit.writeBigUInt64LE(BigInt(value), 0);
  limit.writeBigUInt64LE(BigInt(value), 8);
  check('setrlimit', resource, limit);
}

/** Returns the writable private memory of this process. */
function reservedBytes(): number {
  return 1024 * Number(/^VmData:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))![1]);
}

function dropCapabilities({ check, prctl }: Native): void {
  check('prctl', PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  for (let capability = 0; capability <= CAPABILITY_MAX; capability += 1) {
    // The kernel refuses the first one that it does not know.
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0) break;
  }
  const header = Buffer.alloc(8);
  header.writeUInt32LE(CAPABILITY_VERSION, 0);
  check('capset', header, Buffer.alloc(24));
}
