import type { MessagePort } from 'node:worker_threads';

import { HeddleError } from '@heddle/base/errors';
import type { Clock } from '@heddle/base/clock';
import { messageOf } from '@heddle/base/thrown';
import { onNextTurn } from '@heddle/base/turn';
import type { CompiledRules } from '../detect/packed-rules.ts';
import type { DetectorLimits, DetectorOptions } from '../detect/detector.ts';
import type { Detector } from '../detect/port.ts';
import { BufferPool } from '../graph/buffer-pool.ts';
import { CountBudget } from '../graph/count-budget.ts';
import { ObjectFrontier } from '../graph/frontier.ts';
import { BUFFER_LEN_MAX } from '../graph/limits.ts';
import { liveCounts } from '../graph/live.ts';
import type { SourceSpec } from '../options.ts';
import { pathFilter } from '../path-filter.ts';
import type { ArchiveFormats } from './context.ts';
import { type OpenOpener, Openers } from './openers.ts';
import { RootObject } from './object-reading.ts';
import { ObjectScanner } from './object-scanner.ts';
import { PendingObjects, type PendingObject } from './pending-objects.ts';
import { CONTROL, controlWord, type FromWorker, type ToWorker, type WorkerInit } from './protocol.ts';
import { ResultOutbox } from './result-outbox.ts';
import { SegmentService } from './segment-service.ts';

/** Components of a worker thread. */
export interface WorkerParts {
  openOpener: OpenOpener;
  createDetector(rules: CompiledRules, options: DetectorOptions, limits: DetectorLimits): Detector | Promise<Detector>;
  formats: ArchiveFormats;
  clock: Clock;
}

/** Top-level objects that one thread reads concurrently if reading waits. */
const OBJECTS_OPEN_MAX = 8;

/** Those of histories: one process answers for all of them, in order, and is asked for many at once. */
const BLOBS_OPEN_MAX = 32;

/** Those of a file system: only what unpacks them waits, and each has buffers of its own. */
const FILES_OPEN_MAX = 2;
const FILE_SOURCES: readonly SourceSpec['type'][] = ['path', 'list'];
const BUFFERS_MAX = 8;

/** Reserved overlap: the actual one is known only once the detector exists. */
const RESERVED_OVERLAP_BYTES = 128 * 1024;

/** Maximum time between two checks for messages. */
const SLICE_MS = 10;

/** Results wait so long for others while there is work, so that a message has many. */
const RESULTS_WAIT_MS = 50;

/** Steps between two clock checks. */
const STEPS_PER_CLOCK_CHECK = 32;

/** An object of this size, or that takes this time, delays the rest of its batch too long. */
const LARGE_BYTES = 8 * 1024 * 1024;
const LONG_MS = 200;

/** Serves the coordinator until it sends `close`: receives batches of objects and sends their results. */
export async function serveWorker(port: MessagePort, init: WorkerInit, parts: WorkerParts): Promise<void> {
  const post = (message: FromWorker): void => port.postMessage(message);
  const bufferBytes = Math.min(BUFFER_LEN_MAX, init.chunkBytes + RESERVED_OVERLAP_BYTES);
  try {
    const limits = { buffers_max: BUFFERS_MAX, buffer_bytes: bufferBytes };
    const detector = await parts.createDetector(init.rules, init.detection, limits);
    const service = new WorkerService(port, post, init, parts, detector, bufferBytes);
    port.on('message', (message: ToWorker) => service.receive(message));
    post({ type: 'ready' });
  } catch (error) {
    const coded =
      error instanceof HeddleError ? { code: error.code, details: error.details } : { code: null, details: [] };
    post({ type: 'unable', message: messageOf(error), ...coded });
    port.close();
  }
}

class WorkerService {
  readonly #port: MessagePort;
  readonly #post: (message: FromWorker) => void;
  readonly #clock: Clock;
  readonly #control: Int32Array;
  readonly #progressWord: number;
  readonly #currentWord: number;
  readonly #openMax: number;
  readonly #openKibWord: number;
  readonly #frontier: ObjectFrontier;
  readonly #scanner: ObjectScanner;
  readonly #outbox: ResultOutbox;
  readonly #openers: Openers;
  readonly #segments: SegmentService;
  readonly #pending = new PendingObjects();
  readonly #begun = new Map<number, RootObject>();
  #turnAt = 0;
  #lastCompletionAt = 0;
  #flushedAt = 0;
  /** Set while results wait for others. */
  #cancelFlush: (() => void) | null = null;
  #isPumping = false;
  #isScheduled = false;
  #isWaitingForPermit = false;
  #isClosing = false;

  constructor(
    port: MessagePort,
    post: (message: FromWorker) => void,
    init: WorkerInit,
    parts: WorkerParts,
    detector: Detector,
    bufferBytesMax: number,
  ) {
    this.#port = port;
    this.#post = post;
    this.#clock = parts.clock;
    this.#control = new Int32Array(init.control);
    this.#progressWord = controlWord(init.slot, CONTROL.PROGRESS);
    this.#currentWord = controlWord(init.slot, CONTROL.CURRENT);
    this.#openKibWord = controlWord(init.slot, CONTROL.OPEN_KIB);
    this.#openMax = openMaxOf(init.sources);
    this.#frontier = new ObjectFrontier(CountBudget.attach(init.budget, init.slot + 1), init.depthMax);
    this.#outbox = new ResultOutbox(post);
    this.#openers = new Openers(init.sources, parts.openOpener);
    const passes = pathFilter({ include: [], exclude: init.exclude });
    const pool = new BufferPool({
      buffers_max: BUFFERS_MAX,
      buffer_bytes: Math.min(bufferBytesMax, init.chunkBytes + detector.overlap),
      allocate: (length) => detector.allocate(length),
    });
    this.#segments = new SegmentService(init, {
      detector,
      pool,
      openers: this.#openers,
      post,
      mark: (index) => this.#markObject(index),
      isAborted: () => this.#scanner.executor.isAborted || Atomics.load(this.#control, CONTROL.ABORT) !== 0,
      hasObjects: () => this.#pending.length > 0 || this.#scanner.open > 0,
      onReady: () => this.#ready(),
    });
    this.#scanner = new ObjectScanner({
      limits: init,
      detector,
      formats: parts.formats,
      pool,
      frontier: this.#frontier,
      sink: {
        part: (root) => this.#outbox.part(root),
        completed: (root) => this.#completed(root),
        failRun: (problem) => {
          Atomics.store(this.#control, CONTROL.ABORT, 1);
          post({ type: 'fail_run', problem });
        },
      },
      isExcluded: (path) => !passes(path),
      mark: (reading) => this.#markObject(reading.root.index),
      divide: (reading) => this.#segments.divide(reading),
      divideStream: (reading, end) => this.#segments.divideStream(reading, end),
      scanAhead: (object) => this.#segments.scanAhead(object),
      onReady: () => this.#ready(),
      onDefect: (error) => post({ type: 'defect', message: stackOf(error) }),
    });
  }

  receive(message: ToWorker): void {
    this.#turnAt = this.#clock.monotonic();
    switch (message.type) {
      case 'batch':
        if (this.#pending.length === 0 && this.#scanner.open === 0) this.#lastCompletionAt = this.#turnAt;
        this.#pending.add(message);
        break;
      case 'acknowledged': {
        const root = this.#begun.get(message.index);
        if (root !== undefined) root.unacknowledged -= message.count;
        this.#scanner.executor.wake();
        break;
      }
      case 'help':
        void this.#segments.help(message.object);
        break;
      case 'segment':
        this.#segments.arrive(message.object, message.result);
        break;
      case 'helper_lost':
        this.#segments.helperLost(message.index);
        break;
      case 'hand_back':
        this.#post({ type: 'handed_back', index: this.#pending.removeAll(), busy_with: null });
        break;
      case 'close':
        this.#isClosing = true;
    }
    this.#pump();
  }

  /** Schedules the next round: at once, unless messages have not been checked for long. */
  #ready(): void {
    if (this.#isPumping) return;
    if (this.#clock.monotonic() - this.#turnAt > SLICE_MS) this.#schedule();
    else this.#pump();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    onNextTurn(() => {
      this.#isScheduled = false;
      this.#turnAt = this.#clock.monotonic();
      this.#pump();
    });
  }

  #pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    const isOutOfTime = this.#runSteps();
    this.#isPumping = false;
    Atomics.store(this.#control, this.#currentWord, 0);
    Atomics.store(this.#control, this.#openKibWord, this.#openKib());
    if (this.#isSlow()) this.#handBack();
    if (this.#pending.length === 0 || this.#turnAt - this.#flushedAt >= RESULTS_WAIT_MS) this.#flush();
    else this.#cancelFlush ??= this.#clock.after(RESULTS_WAIT_MS, () => this.#flush());
    if (isOutOfTime) this.#schedule();
    else if (this.#scanner.executor.isStalled) this.#waitForPermit();
    if (this.#isClosing && !isOutOfTime && this.#isDone()) void this.#close();
  }

  #flush(): void {
    this.#cancelFlush?.();
    this.#cancelFlush = null;
    this.#outbox.flush();
    this.#flushedAt = this.#clock.monotonic();
  }

  #openKib(): number {
    let bytes = 0;
    for (const { metrics } of this.#begun.values()) bytes += metrics.bytes_scanned;
    return Math.floor(bytes / 1024);
  }

  /** Returns true if work was left when the time slice ended. */
  #runSteps(): boolean {
    const { executor } = this.#scanner;
    for (let steps = 1; ; steps++) {
      if (Atomics.load(this.#control, CONTROL.ABORT) !== 0) this.#abort();
      if (!executor.runOne() && !this.#beginNext()) return false;
      if (steps % STEPS_PER_CLOCK_CHECK === 0 && this.#clock.monotonic() - this.#turnAt > SLICE_MS) return true;
    }
  }

  #beginNext(): boolean {
    const next = this.#pending.first;
    if (next === null || this.#scanner.open >= this.#openMax) return false;
    const below = Atomics.load(this.#control, CONTROL.BEGIN_BELOW);
    if (below !== 0 && next.index >= below) {
      this.#post({ type: 'handed_back', index: this.#pending.removeAll(), busy_with: null });
      return false;
    }
    const opener = this.#openers.of(next.source, () => this.#ready());
    if (opener === null) return false;
    this.#pending.removeFirst();
    const root = new RootObject(next, opener);
    this.#begun.set(next.index, root);
    this.#scanner.begin(root, this.#frontier.adopt(descriptorOf(next), 0));
    if (next.size_hint >= LARGE_BYTES && this.#pending.length > 0) this.#handBack(next.index);
    return true;
  }

  /** Returns true if this thread delays its pending objects: it has a free slot but has completed nothing for long. */
  #isSlow(): boolean {
    if (this.#pending.length === 0 || this.#scanner.open >= this.#openMax) return false;
    return this.#clock.monotonic() - this.#lastCompletionAt > LONG_MS;
  }

  #handBack(busyWith = this.#begun.keys().next().value): void {
    if (busyWith === undefined) return;
    this.#post({ type: 'handed_back', index: this.#pending.removeAll(), busy_with: busyWith });
  }

  #completed(root: RootObject): void {
    this.#begun.delete(root.index);
    this.#segments.completed(root.index);
    if (this.#scanner.executor.isAborted) {
      this.#outbox.aborted(root);
      return;
    }
    // The clock is checked rarely; the time of the last check is close enough.
    this.#lastCompletionAt = this.#turnAt;
    this.#outbox.completed(root);
  }

  #markObject(index: number | null): void {
    Atomics.store(this.#control, this.#currentWord, index === null ? 0 : index + 1);
    Atomics.add(this.#control, this.#progressWord, 1);
  }

  /** Retries steps that found no permit once there is one, instead of polling. */
  #waitForPermit(): void {
    if (this.#isWaitingForPermit) return;
    const waiting = this.#frontier.whenRefusedFits();
    if (waiting === null) return;
    this.#isWaitingForPermit = true;
    void waiting.then(() => {
      this.#isWaitingForPermit = false;
      this.#scanner.executor.wake();
    });
  }

  /** Drops everything; objects that were not begun keep their permits on this account, which the coordinator clears. */
  #abort(): void {
    if (this.#scanner.executor.isAborted) return;
    this.#pending.removeAll();
    this.#scanner.executor.abort();
    for (const root of this.#begun.values()) root.interrupt();
    this.#segments.abort();
  }

  #isDone(): boolean {
    const isIdle = this.#pending.length === 0 && this.#scanner.open === 0 && !this.#segments.isBusy;
    return isIdle && this.#scanner.executor.isEmpty;
  }

  async #close(): Promise<void> {
    this.#isClosing = false;
    await this.#scanner.closed();
    await this.#openers.close();
    this.#post({ type: 'closed', metrics: this.#outbox.total, live: liveCounts() });
    this.#port.close();
  }
}

function openMaxOf(sources: readonly SourceSpec[]): number {
  if (sources.every(({ type }) => FILE_SOURCES.includes(type))) return FILES_OPEN_MAX;
  return sources.every(({ type }) => type === 'git') ? BLOBS_OPEN_MAX : OBJECTS_OPEN_MAX;
}

function descriptorOf(object: PendingObject): Parameters<ObjectFrontier['adopt']>[0] {
  const { path, size_hint, source, index } = object;
  return { path, size_hint, object_id: { source, idx: index, entry: 0 }, source_id: source };
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
