import {
  and,
  assemble,
  returnAction,
  ifAnyBit,
  ifAtLeast,
  ifEqual,
  ifNoBit,
  ifNotEqual,
  type Instruction,
  loadArchitecture,
  loadArgument,
  loadNumber,
} from './assemble.ts';
import { type CallNumbers, DENIED_CALLS, EXAMINED_CALLS, FIRST_UNKNOWN_CALL } from './calls.ts';

/** Supported machines, by Node's architecture names. */
export type Machine = keyof CallNumbers;

/** Audit architecture constants of the kernel. */
const ARCHITECTURES: Readonly<Record<Machine, number>> = { x64: 0xc000_003e, arm64: 0xc000_00b7 };
/** Bit set in x32 call numbers, which would bypass every rule. */
const X32_CALLS = 0x4000_0000;

const ALLOW = 0x7fff_0000;
const KILL_PROCESS = 0x8000_0000;
const refuse = (errorNumber: number): Instruction => returnAction(0x0005_0000 | errorNumber);
const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

const CLONE_THREAD = 0x0001_0000;
/** Mount, cgroup, UTS, IPC, user, PID and network namespaces. */
const CLONE_NAMESPACES =
  0x0002_0000 | 0x0200_0000 | 0x0400_0000 | 0x0800_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000;
const AF_UNIX = 1;
const MAP_SHARED_ANONYMOUS = 0x01 | 0x20;
const MAP_GROWSDOWN = 0x0100;
/** Requests that inject characters into a terminal as if typed. */
const TERMINAL_INPUT = [0x5412, 0x541c] as const;

/** Rules for the arguments of each examined call; each ends with a verdict. */
const EXAMINATIONS: Readonly<Record<keyof typeof EXAMINED_CALLS, readonly Instruction[]>> = {
  clone: [
    loadArgument(0),
    ...ifNoBit(CLONE_THREAD, [refuse(EPERM)]),
    ...ifAnyBit(CLONE_NAMESPACES, [refuse(EPERM)]),
    returnAction(ALLOW),
  ],
  // Its flags are in memory, out of reach of a filter; the C library falls back to clone.
  clone3: [refuse(ENOSYS)],
  socket: [loadArgument(0), ...ifNotEqual(AF_UNIX, [refuse(EAFNOSUPPORT)]), returnAction(ALLOW)],
  socketpair: [loadArgument(0), ...ifNotEqual(AF_UNIX, [refuse(EAFNOSUPPORT)]), returnAction(ALLOW)],
  // Shared anonymous memory and growing stacks escape the process limits.
  mmap: [
    loadArgument(3),
    ...ifAnyBit(MAP_GROWSDOWN, [refuse(EPERM)]),
    and(MAP_SHARED_ANONYMOUS),
    ...ifEqual(MAP_SHARED_ANONYMOUS, [refuse(EPERM)]),
    returnAction(ALLOW),
  ],
  ioctl: [
    loadArgument(1),
    ...TERMINAL_INPUT.flatMap((request) => ifEqual(request, [refuse(EPERM)])),
    returnAction(ALLOW),
  ],
};

/** Returns the instructions for a machine. */
export function instructionsFor(machine: Machine): readonly Instruction[] {
  const denied = Object.values(DENIED_CALLS).flatMap((call) => forCall(call, machine, [refuse(EPERM)]));
  const examined = (Object.keys(EXAMINED_CALLS) as (keyof typeof EXAMINED_CALLS)[]).flatMap((name) =>
    forCall(EXAMINED_CALLS[name], machine, EXAMINATIONS[name]),
  );
  return [
    loadArchitecture(),
    ...ifNotEqual(ARCHITECTURES[machine], [returnAction(KILL_PROCESS)]),
    loadNumber(),
    ...(machine === 'x64' ? ifAtLeast(X32_CALLS, [returnAction(KILL_PROCESS)]) : []),
    ...ifAtLeast(FIRST_UNKNOWN_CALL, [refuse(ENOSYS)]),
    ...examined,
    ...denied,
    returnAction(ALLOW),
  ];
}

function forCall(call: CallNumbers, machine: Machine, then: readonly Instruction[]): readonly Instruction[] {
  const number = call[machine];
  return number === null ? [] : ifEqual(number, then);
}

/** Returns the jail's seccomp program; null for an unsupported machine. */
export function seccompProgram(machine: string): Buffer | null {
  return machine === 'x64' || machine === 'arm64' ? assemble(instructionsFor(machine)) : null;
}

/**
 * Returns the program of a process that forks those of tasks, for every machine: the event loop must not create rings,
 * whose memory they would share.
 */
export function zygoteSeccompProgram(): Buffer {
  const { x64, arm64 } = DENIED_CALLS['io_uring_setup']!;
  const numbers = new Set([x64, arm64]);
  return assemble([
    loadNumber(),
    ...[...numbers].flatMap((number) => (number === null ? [] : ifEqual(number, [refuse(ENOSYS)]))),
    returnAction(ALLOW),
  ]);
}
