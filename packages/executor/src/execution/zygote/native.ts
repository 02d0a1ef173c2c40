import { readdirSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';

type Call = (...args: unknown[]) => number;

/** Raw exports of koffi. */
interface Koffi {
  load(path: null): { func(prototype: string): unknown };
  errno(): number;
  address(memory: Uint8Array): bigint;
}

/** Functions of the C library and of libuv. Those that fail return -1. */
const PROTOTYPES = {
  fork: 'int fork()',
  exitNow: 'void _exit(int status)',
  kill: 'int kill(int pid, int signal)',
  waitpid: 'int waitpid(int pid, _Out_ int *status, int options)',
  poll: 'int poll(void *entries, unsigned long count, int timeout)',
  syscall: 'long syscall(long number, long first, long second)',
  madvise: 'int madvise(uintptr_t address, size_t bytes, int advice)',
  getrandom: 'long getrandom(void *to, size_t bytes, unsigned int flags)',
  setns: 'int setns(int fd, int type)',
  unshare: 'int unshare(int flags)',
  mount: 'int mount(const char *source, const char *target, const char *type, unsigned long flags, const char *data)',
  setsid: 'int setsid()',
  socket: 'int socket(int family, int type, int protocol)',
  connect: 'int connect(int fd, void *address, uint32_t bytes)',
  pipe: 'int pipe(void *descriptors)',
  dup2: 'int dup2(int from, int to)',
  setgroups: 'int setgroups(size_t count, void *list)',
  setresgid: 'int setresgid(uint32_t real, uint32_t effective, uint32_t saved)',
  setresuid: 'int setresuid(uint32_t real, uint32_t effective, uint32_t saved)',
  setrlimit: 'int setrlimit(int resource, void *limit)',
  capset: 'int capset(void *header, void *data)',
  prctl: 'int prctl(int option, uintptr_t first, uintptr_t second, uintptr_t third, uintptr_t fourth)',
  prctlWith: 'int prctl(int option, uintptr_t first, void *second, uintptr_t third, uintptr_t fourth)',
  defaultLoop: 'void *uv_default_loop()',
  forkLoop: 'int uv_loop_fork(void *loop)',
} as const;

type Calls = { readonly [Name in keyof typeof PROTOTYPES]: Call };

export interface Native extends Calls {
  /** @throws Error with the name of the call and the code, if the result is negative */
  readonly check: (name: keyof Calls, ...args: unknown[]) => number;
  /** Address of memory that does not move while the array is referenced. */
  readonly address: (memory: Uint8Array) => bigint;
}

/**
 * Binds C functions through koffi's native part, which stays out of the module cache, where code of events could find
 * it. @throws Error if none of its builds fits
 */
export function openNative(directory: string): Native {
  const koffi = loaded(directory);
  const library = koffi.load(null);
  const calls = Object.fromEntries(
    Object.entries(PROTOTYPES).map(([name, prototype]) => [name, library.func(prototype)]),
  ) as unknown as Calls;
  const check = (name: keyof Calls, ...args: unknown[]): number => {
    const result = calls[name](...args);
    if (result >= 0) return result;
    const number = koffi.errno();
    const code = Object.entries(constants.errno).find(([, value]) => value === number)?.[0] ?? String(number);
    throw new Error(`${name}: ${code}`);
  };
  return { ...calls, check, address: (memory) => koffi.address(memory) };
}

function loaded(directory: string): Koffi {
  const failures: unknown[] = [];
  // One build for each C library.
  for (const name of readdirSync(directory)) {
    const module = { exports: {} };
    try {
      process.dlopen(module, join(directory, name, 'koffi.node'));
      return module.exports as Koffi;
    } catch (error) {
      failures.push(error);
    }
  }
  throw new AggregateError(failures, `no native part of koffi could be loaded: ${failures.map(String).join('; ')}`);
}
