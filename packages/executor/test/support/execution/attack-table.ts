import type { OutcomeCode } from '../../../src/protocol/codes.ts';
import type { Tier } from '../../../src/protocol/messages.ts';

/** Expected end of an attack: a code, or a result. */
export type Expectation = OutcomeCode | { readonly result: unknown };

export interface Attack {
  readonly event: string;
  /** File within `attacks/`, without extension. */
  readonly module: string;
  readonly args?: Readonly<Record<string, unknown>>;
  readonly timeout_ms?: number;
  readonly memory_mb?: number;
  /** Expectation for every tier; an array if several are valid. */
  readonly ends: Expectation | readonly Expectation[];
  /** Different expectations of some tiers; null: not run there. */
  readonly but?: Partial<Readonly<Record<Tier, Expectation | readonly Expectation[] | null>>>;
  /** Requirement on the machine. */
  readonly needs?: 'own users' | 'x64';
}

export const RESULT_BYTES_MAX = 1024 * 1024;

const of = (module: string, attacks: Readonly<Record<string, Omit<Attack, 'event' | 'module'>>>): Attack[] =>
  Object.entries(attacks).map(([name, attack]) => ({ event: `${module}.${name}`, module, ...attack }));

const TIMES: readonly Attack[] = of('time', {
  'endless-loop': { ends: 'TASK_TIMEOUT', timeout_ms: 300 },
  'regular-expression': { ends: 'TASK_TIMEOUT', timeout_ms: 300 },
  'never-settles': { ends: 'EXECUTION_FAILED' },
  'waits-for-ever': { ends: 'TASK_TIMEOUT', timeout_ms: 300 },
  'ignores-signals': { ends: 'TASK_TIMEOUT', timeout_ms: 300 },
  microtasks: { ends: 'TASK_TIMEOUT', timeout_ms: 300 },
  'atomic-wait': { ends: 'TASK_TIMEOUT', timeout_ms: 300 },
});

const MEMORY: readonly Attack[] = of('memory', {
  heap: { ends: 'TASK_OOM' },
  buffers: { ends: 'TASK_OOM' },
  // A failed allocation is an exception; it counts as out of memory only if the memory is exhausted.
  'one-buffer': { ends: 'EXECUTION_FAILED' },
  webassembly: { ends: 'TASK_OOM' },
  strings: { ends: 'TASK_OOM' },
  threads: { ends: ['TASK_OOM', 'WORKER_LOST', 'EXECUTION_FAILED'] },
  caught: { ends: [{ result: { survived: true } }, 'TASK_OOM'] },
});

/** Node throws if the kernel denies it a process. */
const FORK_REFUSED = 'EXECUTION_FAILED';

const PROCESSES: readonly Attack[] = of('processes', {
  'fork-bomb': {
    ends: ['TASK_TIMEOUT', 'TASK_OOM', 'WORKER_LOST', { result: { became: 'EAGAIN' } }],
    timeout_ms: 500,
    but: { jail: FORK_REFUSED },
    needs: 'own users',
  },
  daemon: {
    ends: { result: { became: 'started' } },
    but: { jail: FORK_REFUSED },
  },
  'daemon-holds-pipes': { ends: { result: { refused: false } }, but: { jail: FORK_REFUSED } },
  'many-threads': {
    ends: [{ result: { failures: true } }, 'TASK_OOM', 'WORKER_LOST', 'TASK_TIMEOUT'],
    timeout_ms: 5_000,
  },
  'kill-parent': {
    ends: { result: { parent: 'EPERM', own: 'EPERM' } },
    // The process is the first in its namespace, so it sees no other to kill.
    but: {
      jail: [{ result: { parent: 'ESRCH', own: null } }, { result: { parent: 'ESRCH', own: 'EPERM' } }, 'WORKER_LOST'],
    },
    needs: 'own users',
  },
});

const FILES: readonly Attack[] = of('files', {
  fill: {
    // The latter without a private directory, and on disks.
    ends: [{ result: { first: 'EFBIG', second: 'ENOSPC' } }, { result: { first: 'EFBIG', second: 'EFBIG' } }],
    but: { jail: { result: { first: 'EFBIG', second: 'ENOSPC' } } },
  },
  descriptors: { ends: { result: { code: 'EMFILE', few: true } } },
  links: { ends: { result: 5 } },
  'write-outside': { ends: { result: [] }, args: { paths: [] }, needs: 'own users' },
  'read-outside': { ends: { result: [] }, args: { paths: [] }, needs: 'own users' },
  'descriptors-inherited': { ends: { result: [] } },
});

const RESULTS: readonly Attack[] = of('results', {
  'half-a-gigabyte': { ends: ['RESULT_TOO_LARGE', 'TASK_OOM'] },
  'many-members': { ends: ['RESULT_TOO_LARGE', 'TASK_OOM'] },
  'just-too-large': { ends: 'RESULT_TOO_LARGE', args: { bytes: RESULT_BYTES_MAX } },
  'as-large-as-may-be': { ends: { result: 'x'.repeat(RESULT_BYTES_MAX - 2) }, args: { bytes: RESULT_BYTES_MAX } },
  undefined: { ends: { result: null } },
  'big-integer': { ends: 'RESULT_NOT_SERIALIZABLE' },
  cycle: { ends: 'RESULT_NOT_SERIALIZABLE' },
  function: { ends: 'RESULT_NOT_SERIALIZABLE' },
  'throwing-json': { ends: 'RESULT_NOT_SERIALIZABLE' },
  'throwing-getter': { ends: 'RESULT_NOT_SERIALIZABLE' },
  'words-of-length': { ends: 'RESULT_NOT_SERIALIZABLE' },
  'hostile-throw': { ends: 'EXECUTION_FAILED' },
  deep: { ends: 'RESULT_NOT_SERIALIZABLE' },
  'rather-deep': { ends: 'RESULT_NOT_SERIALIZABLE' },
  'prototype-member': { ends: 'RESULT_NOT_SERIALIZABLE' },
  'half-a-character': { ends: 'RESULT_NOT_SERIALIZABLE' },
  floats: { ends: { result: [6.02e23, 1e300, 2 ** 60, -1e-300] } },
  'beyond-floats': { ends: { result: [null] } },
  'long-message': { ends: 'EXECUTION_FAILED' },
});

const OUTPUT: readonly Attack[] = of('output', {
  stdout: { ends: { result: null }, timeout_ms: 20_000 },
  stderr: { ends: { result: null }, timeout_ms: 20_000 },
  'stdout-for-ever': { ends: 'TASK_TIMEOUT', timeout_ms: 500 },
  'progress-for-ever': { ends: 'TASK_TIMEOUT', timeout_ms: 500 },
  'many-lines': { ends: { result: 'written' } },
  'odd-lines': { ends: { result: 'written' } },
});

const ENDINGS: readonly Attack[] = of('endings', {
  abort: { ends: 'WORKER_LOST' },
  // The kernel does not deliver such signals to the first process of a namespace, which then continues.
  'segmentation-fault': { ends: 'WORKER_LOST', timeout_ms: 3_000, but: { jail: ['TASK_TIMEOUT', 'WORKER_LOST'] } },
  'kills-itself': { ends: 'WORKER_LOST', timeout_ms: 3_000, but: { jail: ['TASK_TIMEOUT', 'WORKER_LOST'] } },
  'exit-0': { ends: 'WORKER_LOST' },
  'exit-7': { ends: 'WORKER_LOST' },
  throw: { ends: 'EXECUTION_FAILED' },
  'unhandled-rejection': { ends: 'EXECUTION_FAILED' },
  uncaught: { ends: 'EXECUTION_FAILED' },
  stack: { ends: 'EXECUTION_FAILED' },
  'not-json': { ends: 'EXECUTION_FAILED' },
  'words-of-memory': { ends: 'EXECUTION_FAILED' },
  'words-of-memory-at-the-end': { ends: 'WORKER_LOST' },
  thenable: { ends: { result: 'resolved by hand' } },
});

/** Serial of the first job of a fresh process. */
const FIRST = { serial: 1 };

const CHANNEL: readonly Attack[] = of('channel', {
  // It can only forge its own result; a pooled process may have had other jobs.
  'forged-result': { ends: { result: 'forged' }, args: FIRST, but: { pooled: [{ result: 'forged' }, 'WORKER_LOST'] } },
  'two-results': { ends: { result: 1 }, args: FIRST, but: { pooled: [{ result: 1 }, 'WORKER_LOST'] } },
  'result-of-another': { ends: 'WORKER_LOST' },
  garbage: { ends: 'WORKER_LOST' },
  zeros: { ends: 'WORKER_LOST' },
  'huge-length': { ends: 'WORKER_LOST' },
  'huge-result': { ends: 'RESULT_TOO_LARGE' },
  'unknown-type': { ends: 'WORKER_LOST' },
  'ready-again': { ends: 'WORKER_LOST' },
  described: { ends: 'WORKER_LOST' },
  'half-a-frame': { ends: 'TASK_TIMEOUT', timeout_ms: 300 },
  'result-that-is-no-json': {
    ends: 'RESULT_NOT_SERIALIZABLE',
    args: FIRST,
    but: { pooled: ['RESULT_NOT_SERIALIZABLE', 'WORKER_LOST'] },
  },
  'result-with-duplicates': {
    ends: 'RESULT_NOT_SERIALIZABLE',
    args: FIRST,
    but: { pooled: ['RESULT_NOT_SERIALIZABLE', 'WORKER_LOST'] },
  },
  'error-of-the-executor': { ends: 'WORKER_LOST', args: FIRST },
  'flood-of-progress': { ends: ['TASK_TIMEOUT', 'WORKER_LOST'], args: FIRST, timeout_ms: 500 },
  closed: { ends: 'WORKER_LOST' },
  'reads-jobs': { ends: { result: 'EAGAIN' } },
});

const POLLUTION: readonly Attack[] = of('pollution', {
  // Tasks that share a process share its globals.
  builtins: { ends: { result: { fine: true } }, but: { pooled: null } },
  failure: { ends: 'EXECUTION_FAILED', but: { pooled: null } },
});

const IMPORTS: readonly Attack[] = [
  { event: 'import.loop', module: 'import-loop', ends: 'TASK_TIMEOUT', timeout_ms: 400 },
  { event: 'import.throw', module: 'import-throw', ends: 'EXECUTION_FAILED' },
  { event: 'import.exit', module: 'import-exit', ends: 'WORKER_LOST' },
  { event: 'import.waits', module: 'import-waits', ends: 'EXECUTION_FAILED' },
  { event: 'no.such.event', module: 'healthy', ends: 'EVENT_UNAVAILABLE' },
  { event: 'constructor', module: 'healthy', ends: 'EVENT_UNAVAILABLE' },
];

const REFUSED = { result: { became: 'EAFNOSUPPORT' } };

const NETWORK: readonly Attack[] = of('network', {
  // The test provides the port of its own listener. Without a namespace only loopback may be tried.
  loopback: {
    ends: { result: { became: 'connected' } },
    but: { jail: REFUSED, container: { result: { became: 'ECONNREFUSED' } } },
  },
  outside: {
    ends: { result: { metadata: 'EAFNOSUPPORT', documentation: 'EAFNOSUPPORT', name: 'not found' } },
    but: { pooled: null, process: null, container: null },
  },
  datagram: { ends: REFUSED, but: { pooled: null, process: null, container: null } },
});

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

/** x86-64 system calls by number, with the jail's expected answer. */
const CALLS: Readonly<Record<string, readonly [call: number, parameters: readonly number[], error: number]>> = {
  'ptrace (TRACEME)': [101, [0], EPERM],
  mount: [165, [0, 0, 0, 0], EPERM],
  umount2: [166, [0, 0], EPERM],
  chroot: [161, [0], EPERM],
  'unshare (users)': [272, [0x1000_0000], EPERM],
  'unshare (files)': [272, [0x400], EPERM],
  setns: [308, [0, 0], EPERM],
  'clone (a process)': [56, [17], EPERM],
  'clone (users)': [56, [0x1000_0000], EPERM],
  'clone (a thread in new namespaces)': [56, [0x1001_0f00], EPERM],
  fork: [57, [], EPERM],
  vfork: [58, [], EPERM],
  clone3: [435, [0, 0], ENOSYS],
  bpf: [321, [0, 0, 0], EPERM],
  keyctl: [250, [0, 0, 0], EPERM],
  userfaultfd: [323, [0], EPERM],
  perf_event_open: [298, [0, 0, 0, 0], EPERM],
  io_uring_setup: [425, [1, 0], EPERM],
  init_module: [175, [0, 0, 0], EPERM],
  kexec_load: [246, [0, 0, 0, 0], EPERM],
  memfd_create: [319, [0x40_0000, 0], EPERM],
  shmget: [29, [0, 4096, 0o1600], EPERM],
  'socket (IPv4)': [41, [2, 1, 0], EAFNOSUPPORT],
  'socket (netlink)': [41, [16, 3, 0], EAFNOSUPPORT],
  'socket (packets)': [41, [17, 3, 0], EAFNOSUPPORT],
  'socket (the hypervisor)': [41, [40, 1, 0], EAFNOSUPPORT],
  'socket (Unix)': [41, [1, 1, 0], 0],
  'mmap (shared, without a file)': [9, [0, 4096, 3, 0x21], EPERM],
  'mmap (a growing stack)': [9, [0, 4096, 3, 0x122], EPERM],
  'ioctl (typing into a terminal)': [16, [0, 0x5412, 0], EPERM],
  pidfd_open: [434, [1, 0], EPERM],
  process_vm_readv: [310, [1, 0, 0, 0], EPERM],
  setuid: [105, [0], EPERM],
  'a call that is newer than the filter': [470, [], ENOSYS],
  getpid: [39, [], 0],
};

/** Each runs a native program, whose exit code is the error number. */
export const SYSTEM_CALLS = Object.entries(CALLS).map(([name, [call, parameters, error]]) => ({
  name,
  call,
  parameters,
  error,
}));

export const ATTACKS: readonly Attack[] = [
  ...TIMES,
  ...MEMORY,
  ...PROCESSES,
  ...FILES,
  ...RESULTS,
  ...OUTPUT,
  ...ENDINGS,
  ...CHANNEL,
  ...POLLUTION,
  ...IMPORTS,
  ...NETWORK,
];
