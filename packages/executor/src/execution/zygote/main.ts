/**
 * Main module of a zygote: a process in a jail that has started Node and forks a process for each task, which takes
 * milliseconds instead of some forty. It never loads code of events, and neither arguments nor results of tasks pass
 * through it, so a forked process contains nothing of another. It keeps privileges to create namespaces, which each
 * forked process gives up before it loads any code. V8 runs on one thread, because the others are not forked.
 */
import { closeSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { queryObjects, setFlagsFromString } from 'node:v8';

import { encodeFrame, encodeJob, FRAME, FrameReader } from '../child/frames.ts';
import { nextToBootstrap } from '../child/modules.ts';
import { RESULTS_DESCRIPTOR } from '../child/outgoing.ts';
import { WARM_UP } from '../child/package-name.ts';
import { restartMemoryCount } from '../child/memory-count.ts';
import { rehearse, serve } from '../child/serve.ts';
import { warmUp } from '../child/warm-up.ts';
import type { KillOrder } from '../starter/messages.ts';
import { confine, loadedFilter, separateMounts, takeStreams } from './confine.ts';
import { type ExitStatus, exitStatusOf } from './exit-status.ts';
import {
  FORK_NOTE,
  FORK_ORDER,
  type ForkedNote,
  type ForkOrder,
  TASK_STREAMS,
  type ZygoteSettings,
  ZYGOTE_FILES,
} from './messages.ts';
import { openNative } from './native.ts';
import { type Descriptors, openDescriptors, replaceDescriptors } from './descriptors.ts';
import { renew, withoutThreads } from './renew.ts';

const INPUT = 0;
const OUTPUT = 1;
const ERROR = 2;
const SIGKILL = 9;
const CLONE_NEWPID = 0x2000_0000;
const WNOHANG = 1;
const POLLIN = 1;
const POLL_ENTRY_BYTES = 8;
const EVENTS_OFFSET = 4;
const RESULT_OFFSET = 6;
const MADV_DOFORK = 11;
const LOWEST_ADDRESS = 0x1_0000n;
const END_OF_ADDRESSES = 0x7fff_ffff_f000n;
/** `pidfd_open`, which C libraries have only since lately; the same on x64 and arm64. */
const PIDFD_OPEN = 434;
const FAILED = 1;

/** Modules of Node that events often import. Loading them uses no randomness, which forked processes would share. */
const PRELOADED = [
  ...['assert', 'buffer', 'crypto', 'events', 'fs/promises', 'os', 'path', 'perf_hooks', 'querystring', 'stream'],
  ...['stream/promises', 'string_decoder', 'timers/promises', 'url', 'util', 'zlib'],
].map((name) => `node:${name}`);

interface Child {
  readonly pid: number;
  /** Descriptor that becomes readable when it ends. */
  readonly ending: number;
}

const settings = JSON.parse(process.argv[2]!) as ZygoteSettings;
const native = openNative(settings.native);
const children = new Map<number, Child>();
const loop = native.defaultLoop();
const filter = loadedFilter(native, readFileSync(ZYGOTE_FILES.filter));
const forkable = forkableRanges();
/** Descriptors that forked processes get, after those of their streams. */
let inherited: Descriptors;
let ownNamespace: number;

/**
 * Memory that V8 keeps from forked processes has to be forked: all but the pages of the kernel between these ranges.
 * Parts of a range may be unmapped.
 */
function forkableRanges(): readonly (readonly [bigint, bigint])[] {
  const pages = readFileSync('/proc/self/maps', 'utf8')
    .split('\n')
    .filter((line) => /\[v(var|dso)/.test(line));
  const bounds = pages.flatMap((line) =>
    line
      .split(' ')[0]!
      .split('-')
      .map((bound) => BigInt(`0x${bound}`)),
  );
  const [start, end] = [bounds[0] ?? END_OF_ADDRESSES, bounds.at(-1) ?? END_OF_ADDRESSES];
  return [
    [LOWEST_ADDRESS, start - LOWEST_ADDRESS],
    [end, END_OF_ADDRESSES - end],
  ];
}

function send(type: number, note: ForkedNote | (ExitStatus & { id: number }) | { id: number; message: string }): void {
  const frame = encodeFrame(type, Buffer.from(JSON.stringify(note)));
  for (let at = 0; at < frame.length;) at += writeSync(OUTPUT, frame, at);
}

/** @returns whether this is the forked process */
function fork(order: ForkOrder): boolean {
  const { check, madvise } = native;
  let pid: number;
  try {
    // Each child is the first process of a new namespace.
    check('setns', ownNamespace, CLONE_NEWPID);
    check('unshare', CLONE_NEWPID);
    for (const [start, bytes] of forkable) madvise(start, bytes, MADV_DOFORK);
    pid = check('fork');
  } catch (error) {
    send(FORK_NOTE.failed, { id: order.id, message: String(error) });
    return false;
  }
  if (pid === 0) return true;
  children.set(order.id, { pid, ending: check('syscall', PIDFD_OPEN, pid, 0) });
  send(FORK_NOTE.forked, { id: order.id, pid });
  return false;
}

function becomeTask(order: ForkOrder): void {
  try {
    for (const { ending } of children.values()) closeSync(ending);
    takeStreams(native, order);
    confine(native, order, settings, filter);
    const closeUnused = replaceDescriptors(native, inherited);
    renew(native, loop, Math.random);
    closeUnused();
    restartMemoryCount();
    process.argv.splice(1);
    process.env['PWD'] = process.cwd();
  } catch (error) {
    writeSync(ERROR, `a forked process could not be confined: ${String(error)}\n`);
    native.exitNow(FAILED);
  }
  serve();
}

/** @throws Error if forked processes would share memory */
function requireNoSharedMemory(): void {
  const maps = readFileSync('/proc/self/maps', 'utf8');
  const shared = maps.split('\n').filter((line) => /^\S+ .w.s/.test(line));
  if (shared.length > 0) throw new Error(`forked processes would share memory: ${shared.join('; ')}`);
}

function reap(): void {
  for (const [id, { pid, ending }] of children) {
    const status = [0];
    if (native.waitpid(pid, status, WNOHANG) !== pid) continue;
    children.delete(id);
    closeSync(ending);
    send(FORK_NOTE.exited, { id, ...exitStatusOf(status[0]!) });
  }
}

/** Waits for orders or ends of children. @returns whether there is input */
function wait(): boolean {
  const descriptors = [INPUT, ...Array.from(children.values(), ({ ending }) => ending)];
  const entries = Buffer.alloc(POLL_ENTRY_BYTES * descriptors.length);
  descriptors.forEach((descriptor, index) => {
    entries.writeInt32LE(descriptor, index * POLL_ENTRY_BYTES);
    entries.writeInt16LE(POLLIN, index * POLL_ENTRY_BYTES + EVENTS_OFFSET);
  });
  native.poll(entries, descriptors.length, -1);
  return entries.readInt16LE(RESULT_OFFSET) !== 0;
}

/** Follows orders until the executor ends. @returns the order that made this process; null in the zygote */
function followOrders(): ForkOrder | null {
  let orders: ForkOrder[] = [];
  const reader = new FrameReader({
    contentBytesMax: () => 0xffff,
    onFrame: (type, content) => {
      const order = JSON.parse(content.toString()) as ForkOrder | KillOrder;
      if (type === FORK_ORDER.fork) orders.push(order as ForkOrder);
      else kill(order.id);
    },
    onBreach: () => native.exitNow(FAILED),
  });
  const input = Buffer.alloc(0x1_0000);
  for (;;) {
    if (wait()) {
      const bytes = readSync(INPUT, input);
      if (bytes === 0) return null;
      reader.push(input.subarray(0, bytes));
    }
    for (const order of orders) if (fork(order)) return order;
    orders = [];
    reap();
  }
}

function kill(id: number): void {
  const child = children.get(id);
  if (child !== undefined) native.kill(child.pid, SIGKILL);
}

/**
 * Collects garbage and completes it, so that forked processes do not sweep, and thereby copy, the heap that they share.
 */
function collectGarbage(): void {
  queryObjects(FrameReader, { format: 'count' });
}

/**
 * Serves a job with a module that is not loaded yet, and discards its answers. What this compiles, forked
 * processes do not have to.
 */
async function rehearseJob(): Promise<void> {
  const url = `${nextToBootstrap(WARM_UP.file)}?rehearsed`;
  const header = { url, event_name: WARM_UP.event, correlation_id: '', traceparent: null, result_bytes_max: 4 };
  const nothing = openSync('/dev/null', 'w');
  native.check('dup2', nothing, RESULTS_DESCRIPTOR);
  const ends = Buffer.alloc(8);
  native.check('pipe', ends);
  writeSync(ends.readInt32LE(4), encodeFrame(FRAME.load, Buffer.from(JSON.stringify({ url }))));
  writeSync(ends.readInt32LE(4), encodeJob(1, header, Buffer.from('{}')));
  closeSync(ends.readInt32LE(4));
  await rehearse(ends.readInt32LE(0));
  closeSync(nothing);
  closeSync(RESULTS_DESCRIPTOR);
}

async function main(): Promise<void> {
  setFlagsFromString('--lazy');
  await warmUp();
  for (const name of PRELOADED) await import(name);
  await rehearseJob();
  withoutThreads();
  separateMounts(native);
  ownNamespace = openSync('/proc/self/ns/pid', 'r');
  inherited = openDescriptors(TASK_STREAMS);
  requireNoSharedMemory();
  collectGarbage();
  send(FORK_NOTE.ready, { id: 0, pid: process.pid });
  const order = followOrders();
  if (order === null) native.exitNow(0);
  else becomeTask(order);
}

main().catch((error: unknown) => {
  writeSync(ERROR, `${String(error)}\n`);
  native.exitNow(FAILED);
});
