import type { FileHandle } from 'node:fs/promises';

import { writeFully } from '@heddle/base/file-io';
import type { Logger } from '@heddle/base/log';
import { onNextTurn } from '@heddle/base/turn';
import { RemoteFailure } from '../protocol/codes.ts';
import { NonceFrame } from './nonce-records.ts';
import { beginSegment, removeSegment, type Segment } from './replay-segments.ts';

/** Time or size after which a new file is started. */
const SEGMENT_MS = 30_000;
const SEGMENT_BYTES = 64 * 1_048_576;

export interface ReplayLogOptions {
  directory: string;
  bootId: string | null;
  /** Existing files, and the number of the next one. */
  segments: Segment[];
  nextNumber: number;
  /** Horizon in the header of a new file. */
  horizonMs: () => number;
  nowMs: () => number;
  /** Age of its latest request at which a file is deleted. */
  keepMs: number;
  log: Logger;
}

/** The file being written. */
interface OpenSegment {
  readonly file: FileHandle;
  readonly segment: Segment;
  readonly begunAtMs: number;
  bytes: number;
}

/** Requests that wait for one frame. */
interface Round {
  readonly done: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * Nonces on disk, one frame per turn of the event loop. A written frame survives a crash of the process; it is not
 * synced, so a power loss may lose the last ones.
 */
export class ReplayLog {
  readonly #options: ReplayLogOptions;
  #segments: Segment[];
  #number: number;
  #current: OpenSegment | null = null;
  #filling = new NonceFrame();
  #writing = new NonceFrame();
  #round: Round | null = null;
  #busy: Promise<void> | null = null;

  constructor(options: ReplayLogOptions) {
    this.#options = options;
    this.#segments = options.segments;
    this.#number = options.nextNumber;
  }

  /** Resolves when the nonce is written; one promise is shared per turn. @throws RemoteFailure QUEUE_FULL */
  append(client: string, nonce: Uint8Array, timestampMs: number): Promise<void> {
    this.#filling.add(client, nonce, timestampMs);
    if (this.#round === null) {
      this.#round = newRound();
      // Nonces that arrive during a write go into the next frame.
      if (this.#busy === null) onNextTurn(() => this.#start());
    }
    return this.#round.done;
  }

  /** Resolves when everything is written and the file is closed. */
  async close(): Promise<void> {
    while (this.#round !== null || this.#busy !== null) await (this.#round?.done ?? this.#busy)?.catch(() => undefined);
    await this.#current?.file.close();
    this.#current = null;
  }

  #start(): void {
    if (this.#busy !== null || this.#round === null) return;
    this.#busy = this.#writeRounds();
  }

  async #writeRounds(): Promise<void> {
    while (this.#round !== null) {
      const round = this.#round;
      const frame = this.#filling;
      this.#round = null;
      this.#filling = this.#writing;
      this.#writing = frame;
      try {
        await this.#write(frame);
        round.resolve();
      } catch (error) {
        this.#options.log.error({ err: error }, 'could not write nonces; rejecting requests until it succeeds');
        await this.#abandon();
        const message = 'The replay memory cannot be written at present';
        round.reject(new RemoteFailure('QUEUE_FULL', message, { retryAfterSecs: 1, cause: error }));
      }
      frame.clear();
    }
    // Cleared in the same turn as the check of the round, so that later appends start a new write.
    this.#busy = null;
  }

  async #write(frame: NonceFrame): Promise<void> {
    const current = this.#current ?? (await this.#begin());
    const bytes = frame.bytes();
    // Synchronous: the page cache takes microseconds, but a round trip to a thread takes far longer.
    writeFully(current.file.fd, bytes);
    current.bytes += bytes.length;
    current.segment.newestMs = Math.max(current.segment.newestMs, frame.newestMs);
    const agedMs = Math.abs(this.#options.nowMs() - current.begunAtMs);
    if (agedMs < SEGMENT_MS && current.bytes < SEGMENT_BYTES) return;
    await this.#finish();
    await this.#removeOld();
  }

  async #begin(): Promise<OpenSegment> {
    const { directory, bootId, horizonMs, nowMs } = this.#options;
    const header = { boot_id: bootId, horizon_ms: horizonMs() };
    const { file, segment } = await beginSegment(directory, this.#number++, header);
    this.#current = { file, segment, begunAtMs: nowMs(), bytes: 0 };
    return this.#current;
  }

  async #finish(): Promise<void> {
    if (this.#current === null) return;
    const { file, segment } = this.#current;
    this.#current = null;
    this.#segments.push(segment);
    await file.close();
  }

  /** Closes a file that may end in half a frame, after which nothing could be read. */
  async #abandon(): Promise<void> {
    await this.#finish().catch(() => undefined);
  }

  async #removeOld(): Promise<void> {
    const { nowMs, keepMs } = this.#options;
    const oldest = nowMs() - keepMs;
    const old = this.#segments.filter(({ newestMs }) => newestMs < oldest);
    this.#segments = this.#segments.filter(({ newestMs }) => newestMs >= oldest);
    await Promise.all(old.map(removeSegment));
  }
}

function newRound(): Round {
  const round: Partial<Round> = {};
  const done = new Promise<void>((resolve, reject) => Object.assign(round, { resolve, reject }));
  // Avoids an unhandled rejection if the caller is gone.
  done.catch(() => undefined);
  return Object.assign(round, { done }) as Round;
}
