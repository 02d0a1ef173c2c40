import type { Socket } from 'node:net';

import type { Clock } from '@heddle/base/clock';
import { eventLoopTurn } from '@heddle/base/turn';
import { encodeFrame, encodeJob, FRAME, FrameReader, type JobHeader } from './child/frames.ts';
import { OutputCapture, readThrottled } from './output-capture.ts';
import type { Ended, StartedProcess } from './starter/starter.ts';

/** Unvalidated answer of a process, or the reason why there will be none. */
export type Answer =
  | { readonly kind: 'result'; readonly bytes: Buffer }
  | { readonly kind: 'error'; readonly bytes: Buffer }
  | { readonly kind: 'described'; readonly bytes: Buffer }
  | { readonly kind: 'too large' }
  | { readonly kind: 'breach'; readonly reason: string }
  | { readonly kind: 'ended'; readonly ended: Ended };

export interface AnswerHooks {
  readonly onProgress: (bytes: Buffer) => void;
  readonly onLog: (bytes: Buffer) => void;
}

interface PendingAnswer extends AnswerHooks {
  readonly serial: number;
  readonly resultBytesMax: number;
  readonly settle: (answer: Answer) => void;
}

/** Limit of an error, description, log line or progress report. */
const MESSAGE_BYTES_MAX = 256 * 1024;
const NO_HOOKS: AnswerHooks = { onProgress: () => undefined, onLog: () => undefined };

/** A process that runs one job at a time. Its answers are passed on as unvalidated bytes. */
export class WorkerProcess {
  readonly #clock: Clock;
  readonly #started: StartedProcess;
  readonly #input: Socket;
  readonly #reader: FrameReader;
  readonly stdout = new OutputCapture();
  readonly stderr = new OutputCapture();
  /** Resolves to true once it can take a job, or false if it never can. */
  readonly ready: Promise<boolean>;
  /** Resolves when it has exited; descendants may still run and hold its pipes. Never rejects. */
  readonly exited: Promise<void>;
  /** Resolves when its pipes are closed as well. Never rejects. */
  readonly ended: Promise<Ended>;
  #settleReady!: (ready: boolean) => void;
  #settleExited!: () => void;
  #settleEnded!: (ended: Ended) => void;
  /** Null if nothing is being preloaded. */
  #settleLoaded: (() => void) | null = null;
  #pending: PendingAnswer | null = null;
  /** Resolves to true once the last job left nothing running, or false if that cannot happen. */
  #settled = Promise.withResolvers<boolean>();
  #serial = 0;
  #failed: Answer | null = null;
  #isReady = false;
  #hasExited = false;
  #exitCode: number | null = null;
  #isKilled = false;
  #isLeaving = false;

  /**
   * @param started with four streams, or three if frames arrive on standard output
   * @param pipesCloseMs time after the exit for which leftovers may hold its pipes
   */
  constructor(started: StartedProcess, pipesCloseMs: number, clock: Clock) {
    this.#clock = clock;
    this.#started = started;
    this.#settled.resolve(true);
    this.ready = new Promise((resolve) => (this.#settleReady = resolve));
    this.exited = new Promise((resolve) => (this.#settleExited = resolve));
    this.ended = new Promise((resolve) => (this.#settleEnded = resolve));
    this.#reader = new FrameReader({
      contentBytesMax: (type) => this.#contentBytesMax(type),
      onFrame: (type, content) => this.#onFrame(type, content),
      onBreach: (type, bytes) => this.#onBreach(type, bytes),
    });
    const [input, output, error, answers = output] = started.streams as [Socket, Socket, Socket, Socket?];
    this.#input = input;
    input.on('error', () => undefined);
    const unthrottle = [
      readThrottled(error, clock, (chunk) => this.stderr.push(chunk)),
      readThrottled(answers, clock, (chunk) => this.#reader.push(chunk)),
    ];
    if (answers !== output) unthrottle.push(readThrottled(output, clock, (chunk) => this.stdout.push(chunk)));
    void this.#watchEnd(pipesCloseMs, new Set([output, error, answers]), unthrottle);
  }

  get pid(): number {
    return this.#started.pid;
  }

  /** Whether it has exited; its process id may have been reused. */
  get isGone(): boolean {
    return this.#hasExited;
  }

  get exitCode(): number | null {
    return this.#exitCode;
  }

  /** Whether it has exited or violated the protocol, and can take no more jobs. */
  get isLost(): boolean {
    return this.#hasExited || this.#isKilled || this.#isLeaving || this.#failed !== null;
  }

  /** Sends a job. @param args JSON */
  dispatch(header: JobHeader, args: Uint8Array, hooks: AnswerHooks): Promise<Answer> {
    const serial = this.#nextSerial();
    this.#settled = Promise.withResolvers();
    return this.#send(encodeJob(serial, header, args), serial, header.result_bytes_max, hooks);
  }

  /** Requests the definitions of a module. */
  describe(url: string): Promise<Answer> {
    return this.#send(encodeFrame(FRAME.describe, Buffer.from(JSON.stringify({ url }))), 0, 0, NO_HOOKS);
  }

  /** Preloads the module of an expected job. @returns once it is loaded, or never will be */
  load(url: string): Promise<void> {
    if (this.isLost) return Promise.resolve();
    this.#input.write(encodeFrame(FRAME.load, Buffer.from(JSON.stringify({ url }))));
    return new Promise((resolve) => (this.#settleLoaded = resolve));
  }

  /** Resolves to true once nothing of the last job is running, or false once the process has ended. */
  get settled(): Promise<boolean> {
    return this.#settled.promise;
  }

  /** Whether it has a job. */
  get isBusy(): boolean {
    return this.#pending !== null;
  }

  #nextSerial(): number {
    this.#serial = (this.#serial + 1) >>> 0 || 1;
    return this.#serial;
  }

  #send(frame: Buffer, serial: number, resultBytesMax: number, hooks: AnswerHooks): Promise<Answer> {
    if (this.#failed !== null) return Promise.resolve(this.#failed);
    if (this.#pending !== null) throw new Error('worker process: it already has a job');
    return new Promise((settle) => {
      this.#pending = { ...hooks, serial, resultBytesMax, settle };
      this.#input.write(frame);
    });
  }

  /** Aborts the signal of the current job. */
  abort(): void {
    if (!this.isLost) this.#input.write(encodeFrame(FRAME.abort));
  }

  /** Kills the process and its group. */
  kill(): void {
    this.#reader.stop();
    this.#isKilled = true;
    this.#settled.resolve(false);
    this.#started.kill();
  }

  #contentBytesMax(type: number): number {
    switch (type) {
      case FRAME.ready:
        return this.#isReady ? -1 : 0;
      case FRAME.loaded:
        return this.#settleLoaded === null ? -1 : 0;
      case FRAME.leaving:
        return 0;
      case FRAME.settled:
        return this.#pending === null ? 0 : -1;
      case FRAME.result:
        return this.#pending === null ? -1 : this.#pending.resultBytesMax + 4;
      case FRAME.error:
      case FRAME.described:
      case FRAME.progress:
      case FRAME.log:
        return MESSAGE_BYTES_MAX;
      default:
        return -1;
    }
  }

  #onFrame(type: number, content: Buffer): void {
    if (type === FRAME.ready) {
      this.#isReady = true;
      this.#settleReady(true);
      return;
    }
    if (type === FRAME.loaded) {
      this.#endLoading();
      return;
    }
    if (type === FRAME.settled) {
      this.#settled.resolve(true);
      return;
    }
    if (type === FRAME.leaving) {
      this.#isLeaving = true;
      return;
    }
    const pending = this.#pending;
    if (pending === null) {
      // Late progress or log frames of a finished job are harmless; a second answer is not.
      if (type !== FRAME.progress && type !== FRAME.log) this.#fail({ kind: 'breach', reason: 'a surplus answer' });
      return;
    }
    if (type === FRAME.described) {
      this.#answer({ kind: 'described', bytes: Buffer.from(content) });
      return;
    }
    if (content.length < 4 || content.readUInt32BE(0) !== pending.serial) {
      if (type === FRAME.progress || type === FRAME.log) return;
      this.#fail({ kind: 'breach', reason: 'an answer to another job' });
      return;
    }
    const bytes = content.subarray(4);
    if (type === FRAME.progress) pending.onProgress(bytes);
    else if (type === FRAME.log) pending.onLog(bytes);
    else this.#answer({ kind: type === FRAME.result ? 'result' : 'error', bytes: Buffer.from(bytes) });
  }

  #onBreach(type: number, bytes: number): void {
    const isLong = type === FRAME.result && this.#pending !== null && bytes >= 0;
    this.#fail(isLong ? { kind: 'too large' } : { kind: 'breach', reason: `a frame of type ${type}, ${bytes} bytes` });
  }

  #answer(answer: Answer): void {
    const pending = this.#pending;
    this.#pending = null;
    pending?.settle(answer);
  }

  #endLoading(): void {
    this.#settleLoaded?.();
    this.#settleLoaded = null;
  }

  /** Stops reading and settles everything with a failure. */
  #fail(answer: Answer): void {
    this.#reader.stop();
    this.#failed ??= answer;
    this.#settleReady(false);
    this.#settled.resolve(false);
    this.#endLoading();
    this.#answer(answer);
  }

  async #watchEnd(
    pipesCloseMs: number,
    outputs: ReadonlySet<Socket>,
    unthrottle: readonly (() => void)[],
  ): Promise<void> {
    const closed = Promise.all(Array.from(outputs, closedOf));
    const ended = await this.#started.exited;
    this.#hasExited = true;
    this.#exitCode = ended.exitCode;
    this.#settleExited();
    this.#input.destroy();
    const late = Promise.withResolvers<undefined>();
    const cancel = this.#clock.after(pipesCloseMs, () => late.resolve(undefined));
    for (const stopThrottling of unthrottle) stopThrottling();
    await Promise.race([closed, late.promise]);
    cancel();
    // A timer may fire before pending data is read, which takes one event loop turn.
    await eventLoopTurn();
    for (const stream of outputs) stream.destroy();
    this.#fail({ kind: 'ended', ended });
    this.#settleEnded(ended);
  }
}

function closedOf(stream: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (stream.closed) resolve();
    else stream.once('close', () => resolve());
  });
}
