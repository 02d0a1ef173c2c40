import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';

import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { encodeFrame, FrameReader } from '../child/frames.ts';
import { Connections, type ExpectedStreams } from './connections.ts';
import {
  type ExitedNote,
  type FailedNote,
  type KillOrder,
  NOTE,
  ORDER,
  type StartedNote,
  type StartOrder,
  TOKEN_LENGTH,
} from './messages.ts';

/** A command line to start as a process. */
export type Launch = Omit<StartOrder, 'id' | 'token'>;

/** How a process ended. */
export type Ended = Omit<ExitedNote, 'id'>;

export interface StartedProcess {
  readonly pid: number;
  /** Streams in descriptor order, each readable and writable. */
  readonly streams: readonly Socket[];
  /** Resolves when it ends; never rejects. */
  readonly exited: Promise<Ended>;
  /** Kills the process and its group. */
  kill(): void;
}

export interface StarterOptions {
  /** Script of the starter process, and the Node that runs it. */
  readonly script: string;
  readonly node: string;
  /** Directory in which a private folder for the socket is created. */
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Starting {
  readonly streams: ExpectedStreams;
  readonly settle: (started: StartedProcess | Promise<StartedProcess>) => void;
}

/** Keeps its memory small, because its page tables are copied at each start. */
const NODE_FLAGS = ['--max-old-space-size=32', '--max-semi-space-size=1', '--v8-pool-size=1'] as const;
const NOTE_BYTES_MAX = 64 * 1024;
/** Time for it to exit by itself, unless it is blocked. */
const CLOSE_MS = 5_000;

/**
 * Starts processes through a small helper process. Forking copies the page tables of the caller, which would block a
 * large process for milliseconds. If the helper ends, everything it started is killed, and the next start creates a new
 * one.
 */
export class Starter {
  readonly #options: StarterOptions;
  readonly #connections: Connections;
  readonly #starting = new Map<number, Starting>();
  readonly #living = new Map<number, { readonly pid: number; readonly end: (ended: Ended) => void }>();
  #process: ChildProcess | null = null;
  #ids = 0;
  #isClosed = false;

  private constructor(options: StarterOptions, connections: Connections) {
    this.#options = options;
    this.#connections = connections;
  }

  static async open(options: StarterOptions): Promise<Starter> {
    return new Starter(options, await Connections.listen(options.directory));
  }

  /** Where processes connect that others than the starter process start. */
  get connections(): Connections {
    return this.#connections;
  }

  /** @throws Error if it cannot be started */
  start(launch: Launch): Promise<StartedProcess> {
    if (this.#isClosed) return Promise.reject(new Error('the process starter is closed'));
    this.#ids += 1;
    const id = this.#ids;
    const token = Buffer.from(systemRandom.bytes(TOKEN_LENGTH / 2)).toString('hex');
    const streams = this.#connections.expect(token, launch.streams);
    return new Promise((settle) => {
      this.#starting.set(id, { streams, settle });
      this.#order(ORDER.start, { ...launch, id, token });
    });
  }

  /** Kills all started processes. @returns once the starter process has ended */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#connections.close();
    const child = this.#process;
    if (child === null) return;
    // The exit must be observed even if nothing else keeps this process alive.
    this.#keepAlive();
    (child.stderr as Socket).ref();
    const closed = new Promise((resolve) => child.once('close', resolve));
    const cancel = this.#options.clock.after(CLOSE_MS, () => child.kill('SIGKILL'));
    child.stdin?.end();
    await closed;
    cancel();
  }

  #order(type: number, order: StartOrder | KillOrder): void {
    this.#process ??= this.#spawn();
    this.#process.stdin?.write(encodeFrame(type, Buffer.from(JSON.stringify(order))));
    this.#keepAlive();
  }

  #spawn(): ChildProcess {
    const { node, script } = this.#options;
    const child: ChildProcess = spawn(node, [...NODE_FLAGS, script, this.#connections.path], {
      cwd: '/',
      env: {},
      // Detached from the terminal's signals to this process group.
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let errorOutput = '';
    const reader = new FrameReader({
      contentBytesMax: () => NOTE_BYTES_MAX,
      onFrame: (type, content) => this.#note(type, content),
      onBreach: () => child.kill('SIGKILL'),
    });
    const onEnd = (why: string): void => this.#handleEnd(child, `${why} ${errorOutput.trim()}`.trim());
    child.once('error', (error) => onEnd(error.message));
    // Uses close rather than exit, because earlier frames may still be unread.
    child.once('close', (exitCode, signal) => onEnd(`exited with ${signal ?? exitCode ?? 'no status'}`));
    // Absent if this process has no free descriptors.
    child.stdin?.on('error', () => undefined);
    child.stdout?.on('data', (chunk: Buffer) => reader.push(chunk));
    child.stderr?.on('data', (chunk: Buffer) => (errorOutput = (errorOutput + chunk.toString()).slice(-2_000)));
    child.unref();
    (child.stdin as Socket | null)?.unref();
    (child.stderr as Socket | null)?.unref();
    return child;
  }

  /** Keeps this process alive while any start or running process may still report. */
  #keepAlive(): void {
    const child = this.#process;
    const isAwaited = this.#isClosed || this.#starting.size + this.#living.size > 0;
    for (const handle of [child, child?.stdout as Socket | null | undefined]) {
      if (isAwaited) handle?.ref();
      else handle?.unref();
    }
  }

  #note(type: number, content: Buffer): void {
    const note = JSON.parse(content.toString()) as StartedNote | FailedNote | ExitedNote;
    if (type === NOTE.started) this.#begin(note as StartedNote);
    else if (type === NOTE.failed) this.#refuse(note.id, (note as FailedNote).message);
    else this.#end(note as ExitedNote);
    this.#keepAlive();
  }

  #begin({ id, pid }: StartedNote): void {
    const starting = this.#starting.get(id);
    if (starting === undefined) return;
    this.#starting.delete(id);
    const { promise: exited, resolve: end } = Promise.withResolvers<Ended>();
    this.#living.set(id, { pid, end });
    const kill = (): void => {
      if (this.#living.has(id)) this.#order(ORDER.kill, { id });
    };
    // All streams were accepted before it started.
    const streams = starting.streams.sockets as readonly Socket[];
    starting.settle({ pid, streams, exited, kill });
  }

  #refuse(id: number, message: string): void {
    const starting = this.#starting.get(id);
    if (starting === undefined) return;
    this.#starting.delete(id);
    starting.streams.forget();
    starting.settle(Promise.reject(new Error(message)));
  }

  #end({ id, exitCode, signal }: ExitedNote): void {
    const living = this.#living.get(id);
    this.#living.delete(id);
    living?.end({ exitCode, signal });
  }

  /** Handles the end of the starter process. */
  #handleEnd(child: ChildProcess, why: string): void {
    if (this.#process !== child) return;
    this.#process = null;
    if (!this.#isClosed) this.#options.log.error({ why }, 'starter process ended');
    for (const id of [...this.#starting.keys()]) this.#refuse(id, `the starter process ended: ${why}`);
    for (const [id, { pid }] of [...this.#living]) {
      try {
        // The kernel has already killed them where it supports that.
        process.kill(-pid, 'SIGKILL');
      } catch {
        // The process group is already gone.
      }
      this.#end({ id, exitCode: null, signal: 'SIGKILL' });
    }
  }
}
