import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';

import { systemRandom } from '@heddle/base/random';
import { encodeFrame, FrameReader } from '../child/frames.ts';
import { childrenOf } from '../child-processes.ts';
import type { Connections, ExpectedStreams } from '../starter/connections.ts';
import { type ExitedNote, type FailedNote, type KillOrder, TOKEN_LENGTH } from '../starter/messages.ts';
import type { Ended, StartedProcess } from '../starter/starter.ts';
import { FORK_NOTE, FORK_ORDER, type ForkedNote, type ForkOrder, TASK_STREAMS } from './messages.ts';

const NOTE_BYTES_MAX = 64 * 1024;
const ERROR_CHARACTERS_MAX = 2_000;

interface Forking {
  readonly streams: ExpectedStreams;
  readonly settle: (started: StartedProcess) => void;
  /** Without effect on a process that has begun. */
  readonly reject: (error: Error) => void;
  readonly end: (ended: Ended) => void;
  readonly exited: Promise<Ended>;
}

/** A process that forks a confined process for each task. */
export class Zygote {
  readonly #process: StartedProcess;
  readonly #connections: Connections;
  readonly #forks = new Map<number, Forking>();
  readonly #ready = Promise.withResolvers<undefined>();
  #errorOutput = '';
  #ids = 0;
  #isGone = false;
  #isRetired = false;

  /** @param process with three streams: orders, notes, errors */
  constructor(process: StartedProcess, connections: Connections) {
    this.#process = process;
    this.#connections = connections;
    const reader = new FrameReader({
      contentBytesMax: () => NOTE_BYTES_MAX,
      onFrame: (type, content) => this.#note(type, content),
      onBreach: () => process.kill(),
    });
    const [input, output, error] = process.streams as [Socket, Socket, Socket];
    for (const stream of [input, output, error]) stream.on('error', () => undefined);
    output.on('data', (chunk: Buffer) => reader.push(chunk));
    error.on('data', (chunk: Buffer) => {
      this.#errorOutput = (this.#errorOutput + chunk.toString()).slice(-ERROR_CHARACTERS_MAX);
    });
    void process.exited.then((ended) => this.#handleEnd(ended));
    this.#ready.promise.catch(() => undefined);
  }

  /** Resolves once it can fork; rejects if it never can. */
  get ready(): Promise<undefined> {
    return this.#ready.promise;
  }

  /** It ends as soon as no process that it has forked is left, and forks no more. */
  get isRetired(): boolean {
    return this.#isRetired;
  }

  /** Forks a process. @param user null if it cannot be chosen @throws Error if that fails */
  fork(user: number | null): Promise<StartedProcess> {
    if (this.#isGone || this.#isRetired) return Promise.reject(new Error('the zygote has ended'));
    this.#ids += 1;
    const id = this.#ids;
    const token = Buffer.from(systemRandom.bytes(TOKEN_LENGTH / 2)).toString('hex');
    const streams = this.#connections.expect(token, TASK_STREAMS);
    const { promise: exited, resolve: end } = Promise.withResolvers<Ended>();
    return new Promise((settle, reject) => {
      this.#forks.set(id, { streams, settle, reject, end, exited });
      this.#order(FORK_ORDER.fork, { id, user, token });
    });
  }

  /** Ends it once the processes that it has forked have ended. @returns once it has ended */
  async retire(): Promise<void> {
    this.#isRetired = true;
    if (this.#forks.size === 0) this.#process.kill();
    await this.#process.exited;
  }

  #order(type: number, order: ForkOrder | KillOrder): void {
    this.#process.streams[0]!.write(encodeFrame(type, Buffer.from(JSON.stringify(order))));
  }

  #note(type: number, content: Buffer): void {
    const note = JSON.parse(content.toString()) as ForkedNote | FailedNote | ExitedNote;
    const fork = this.#forks.get(note.id);
    if (type === FORK_NOTE.ready) this.#ready.resolve(undefined);
    else if (fork === undefined) return;
    else if (type === FORK_NOTE.forked) void this.#begin(note as ForkedNote, fork);
    else if (type === FORK_NOTE.failed) this.#fail(note.id, (note as FailedNote).message);
    else this.#end(note.id, note as ExitedNote);
  }

  async #begin({ id, pid: innerPid }: ForkedNote, { streams, settle, exited }: Forking): Promise<void> {
    // Its user may differ, and the namespace of its id certainly does.
    const pid = outerPidOf(this.#process.pid, innerPid);
    await streams.accepted;
    if (!this.#forks.has(id)) return;
    const kill = (): void => {
      if (this.#forks.has(id)) this.#order(FORK_ORDER.kill, { id });
    };
    if (pid === null) this.#fail(id, 'the forked process was not found');
    else settle({ pid, streams: streams.sockets as readonly Socket[], exited, kill });
  }

  #fail(id: number, message: string): void {
    const fork = this.#forks.get(id);
    this.#forks.delete(id);
    fork?.reject(new Error(`${message} ${this.#errorOutput.trim()}`.trim()));
  }

  #end(id: number, { exitCode, signal }: Ended): void {
    const fork = this.#forks.get(id);
    this.#fail(id, 'the forked process ended early:');
    fork?.end({ exitCode, signal });
    if (this.#isRetired) void this.retire();
  }

  #handleEnd({ exitCode, signal }: Ended): void {
    this.#isGone = true;
    this.#ready.reject(
      new Error(`exited with ${signal ?? exitCode ?? 'no status'} ${this.#errorOutput.trim()}`.trim()),
    );
    for (const stream of this.#process.streams) stream.destroy();
    // The kernel has killed them with their namespace.
    for (const id of [...this.#forks.keys()]) this.#end(id, { exitCode: null, signal: 'SIGKILL' });
  }
}

/** Returns the id in this namespace of a child of the zygote that bubblewrap runs; null if it has ended. */
function outerPidOf(bubblewrap: number, innerPid: number): number | null {
  const [first] = childrenOf(bubblewrap);
  const [zygote] = first === undefined ? [] : childrenOf(first);
  const children = zygote === undefined ? [] : childrenOf(zygote);
  return children.findLast((pid) => innerPidOf(pid) === innerPid) ?? null;
}

/** Returns the id of a process in the namespace above its own. */
function innerPidOf(pid: number): number | null {
  try {
    const [, ids] = /^NSpid:\s+(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(ids!.split('\t').at(-2));
  } catch {
    return null;
  }
}
