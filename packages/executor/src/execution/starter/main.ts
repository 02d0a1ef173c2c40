/**
 * Process that starts all others of a tier. The kernel copies the page tables of the process that forks and blocks it
 * meanwhile, so forking happens here, in a small process that no task waits for. It imports only what it needs.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';

import { encodeFrame, FrameReader } from '../child/frames.ts';
import { lowerPriority } from '../priority.ts';
import {
  type ExitedNote,
  type FailedNote,
  type KillOrder,
  NOTE,
  ORDER,
  type StartedNote,
  type StartOrder,
} from './messages.ts';

const OUTPUT = 1;
/** `O_CLOEXEC`, which Node does not export. */
const CLOSED_ON_EXEC = 0o2000000;
/** Time limit for the executor's confirmation: without free descriptors it may never answer. */
const TAKEN_MS = 30_000;
/** Path of the socket at which the executor accepts streams. */
const socketPath = process.argv[2]!;
const living = new Map<number, ChildProcess>();

function send(type: number, note: StartedNote | FailedNote | ExitedNote): void {
  const frame = encodeFrame(type, Buffer.from(JSON.stringify(note)));
  for (let at = 0; at < frame.length;) at += writeSync(OUTPUT, frame, at);
}

async function start(order: StartOrder): Promise<void> {
  const { id } = order;
  const streams = Array.from({ length: order.streams }, () => new Socket());
  try {
    await Promise.all(streams.map((stream, index) => connectStream(stream, `${order.token}${index}`)));
    track(order, spawned(order, streams));
  } catch (error) {
    send(NOTE.failed, { id, message: error instanceof Error ? error.message : String(error) });
  }
  for (const stream of streams) stream.destroy();
}

/** Internal handle, the only way in Node to make an inherited socket blocking like a pipe. */
interface Connected {
  readonly _handle: { setBlocking(blocking: boolean): void } | null;
}

/**
 * Connects a stream of a new process. The executor has accepted it before the process starts, so output survives even
 * an immediate exit; data after the confirmation is for the process alone.
 */
function connectStream(stream: Socket, greeting: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const refused = (): void => reject(new Error('the executor did not accept its streams'));
    stream.once('error', refused).once('close', refused);
    stream.setTimeout(TAKEN_MS, () => stream.destroy());
    stream.once('data', () => {
      stream.setTimeout(0).pause();
      (stream as unknown as Connected)._handle?.setBlocking(true);
      resolve();
    });
    stream.connect({ path: socketPath }, () => stream.write(greeting));
  });
}

/** @throws Error if it cannot be started */
function spawned(order: StartOrder, streams: readonly Socket[]): ChildProcess {
  const files: number[] = [];
  try {
    // Readers share the offset of an open file, so each process gets its own.
    for (const path of order.files) files.push(openSync(path, 'r'));
    return spawn(order.command, order.args, {
      cwd: order.directory,
      env: order.environment,
      // A separate process group, so that it can be killed as a whole.
      detached: true,
      stdio: [...streams, ...files],
      ...(order.user === null ? {} : { uid: order.user, gid: order.user }),
    });
  } finally {
    for (const file of files) closeSync(file);
  }
}

function track({ id, behind }: StartOrder, child: ChildProcess): void {
  child.once('error', (error) => {
    // A signal that could not be sent does not mean that it ended.
    if (child.pid === undefined) send(NOTE.failed, { id, message: error.message });
  });
  if (child.pid === undefined) return;
  if (behind) lowerPriority(child.pid);
  living.set(id, child);
  child.once('exit', (exitCode, signal) => {
    living.delete(id);
    // Leftovers in its group hold its pipes open and must not outlive it.
    signalTo(-child.pid!);
    send(NOTE.exited, { id, exitCode, signal });
  });
  send(NOTE.started, { id, pid: child.pid });
}

function kill(id: number): void {
  const pid = living.get(id)?.pid;
  if (pid === undefined) return;
  signalTo(-pid);
  signalTo(pid);
}

function signalTo(target: number): void {
  try {
    process.kill(target, 'SIGKILL');
  } catch {
    // The process has already ended.
  }
}

/**
 * Closes descriptors inherited from the executor, which tasks would inherit in turn. Node marks its own as
 * close-on-exec.
 */
function closeInherited(): void {
  for (const name of process.platform === 'linux' ? readdirSync('/proc/self/fd') : []) {
    if (Number(name) > 2 && isInherited(name)) closeSync(Number(name));
  }
}

/** Returns whether a descriptor is inherited; false if it no longer exists. */
function isInherited(descriptor: string): boolean {
  try {
    const [, flags] = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8')) ?? [];
    return (Number.parseInt(flags!, 8) & CLOSED_ON_EXEC) === 0;
  } catch {
    return false;
  }
}

const { parse } = JSON;
const reader = new FrameReader({
  contentBytesMax: () => 0xffff_ffff,
  onFrame: (type, content) => {
    const order = parse(content.toString()) as StartOrder | KillOrder;
    if (type === ORDER.start) void start(order as StartOrder);
    else kill(order.id);
  },
  onBreach: () => process.exit(1),
});

/** Kills everything and exits, because no process may outlive its executor. */
function end(): void {
  for (const id of living.keys()) kill(id);
  process.exit(0);
}

closeInherited();
// Ignored so that tasks can finish while a service manager signals all processes of the executor.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

const input = new Socket({ fd: 0, readable: true, writable: false });
input.on('data', (chunk: Buffer) => reader.push(chunk));
input.on('end', end);
input.on('error', end);
