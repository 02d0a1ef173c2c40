import { setMaxListeners } from 'node:events';
import type { Socket } from 'node:net';

import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { addressOf, provesKey } from '../connections.ts';
import type { RemoteManager, Reply } from '../manager/port.ts';
import { RemoteFailure } from '../protocol/codes.ts';
import { malformed, refusalPayload } from '../protocol/refusal.ts';
import type { PeerCertificate } from '../security/port.ts';
import type { UnprovenShare } from '../unproven-memory.ts';
import { UNITS } from '../unproven-queue.ts';
import { type Frame, FrameReader, type FrameStage } from './frames.ts';
import { HeaderFault, readRequest, refusal, responseHeader, type FramedRequest } from './header.ts';
import { Outbox } from './outbox.ts';
import type { TcpLimits } from './limits.ts';

/** Shared parts of all connections of one listener. */
export interface ConnectionContext {
  readonly manager: RemoteManager;
  readonly limits: TcpLimits;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called when the peer has proven that it holds a key. */
  onProven(connection: TcpConnection): void;
  /** Returns the memory account of a connection that has not proven a key. */
  shareOf(connection: TcpConnection): UnprovenShare;
  /** Runs work for an unproven connection when the queue admits it. Returns a function that cancels it. */
  enter(connection: TcpConnection, units: number, run: () => void): () => void;
  /** Called with the change in bytes of incomplete requests. */
  onPartial(connection: TcpConnection, delta: number): void;
}

/** Time for the peer to read a rejection. */
const LINGER_MS = 1_000;
/** Unread output at which reading pauses. */
const OUTPUT_BYTES_PAUSE = 1024 * 1024;

/** One connection: reads frames, passes them to the manager, and writes responses in order of completion. */
export class TcpConnection {
  readonly socket: Socket;
  readonly #context: ConnectionContext;
  readonly #peer: PeerCertificate | null;
  readonly #remoteAddress: string;
  readonly #reader: FrameReader;
  readonly #outbox: Outbox;
  readonly #disconnected = new AbortController();
  readonly #inFlight = new Set<number>();
  readonly #share: UnprovenShare;
  #stage: FrameStage = 'idle';
  /** Monotonic time at which the stage began or the last request ended. */
  #since: number;
  #partial = 0;
  #paused = false;
  /** Whether it waits in the queue of unproven callers. */
  #isQueued = false;
  #leaveQueue: () => void = () => undefined;
  #draining = false;
  #proven = false;
  /** Time of the rejection; null if not rejected. */
  #refusedAt: number | null = null;

  constructor(socket: Socket, peer: PeerCertificate | null, context: ConnectionContext) {
    this.socket = socket;
    this.#context = context;
    this.#peer = peer;
    this.#remoteAddress = addressOf(socket);
    this.#reader = new FrameReader(context.limits.frame_bytes_max);
    this.#outbox = new Outbox(socket, () => this.#afterFlush());
    this.#since = context.clock.monotonic();
    this.#share = context.shareOf(this);
    setMaxListeners(0, this.#disconnected.signal);
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('drain', () => this.#resumeWhenRoom());
    socket.on('error', () => socket.destroy());
    socket.on('end', () => socket.destroySoon());
    socket.once('close', () => this.#onClose());
  }

  /** Memory held by incomplete requests, bytes. */
  get partialBytes(): number {
    return this.#partial;
  }

  /** Ends the connection once no request is in flight. */
  drain(): void {
    this.#draining = true;
    this.#endWhenDrained();
  }

  /** Enforces deadlines. @param nowMs monotonic */
  sweep(nowMs: number): void {
    const { limits } = this.#context;
    const elapsedMs = nowMs - this.#since;
    if (this.#refusedAt !== null) {
      if (nowMs - this.#refusedAt > LINGER_MS) this.socket.destroy();
    } else if (this.#outbox.isStuck(nowMs, limits.output_ms)) {
      this.#cut('responses are not read');
    } else if (this.#paused || this.#isQueued) {
      // Time during which nothing is read does not count against the peer.
      this.#since = nowMs;
    } else if (this.#stage !== 'idle') {
      this.#refuseLate(elapsedMs);
    } else if (this.#inFlight.size === 0 && elapsedMs > limits.idle_ms) {
      this.socket.destroySoon();
    }
  }

  #refuseLate(elapsedMs: number): void {
    const { header_ms, body_ms } = this.#context.limits;
    if (this.#stage === 'header' && elapsedMs > header_ms)
      this.refuse(null, malformed(`frame: its header was not complete within ${header_ms} ms`));
    if (this.#stage === 'payload' && elapsedMs > body_ms)
      this.refuse(null, malformed(`frame: its payload was not complete within ${body_ms} ms`));
  }

  /** Rejects a request with an unsigned response and stops reading. @param id null if the request is unknown */
  refuse(id: number | null, failure: RemoteFailure): void {
    if (this.#refusedAt !== null || this.socket.destroyed) return;
    const { clock, log } = this.#context;
    log.debug({ remote_address: this.#remoteAddress, details: failure.details }, 'rejected a frame');
    const nowMs = clock.now();
    const framed = refusal(id, refusalPayload(failure, nowMs), nowMs);
    this.#outbox.add(responseHeader(framed), framed.response.payload);
    this.#refusedAt = clock.monotonic();
    this.#reader.clear();
    this.#leaveQueue();
    this.#count(0);
    this.#outbox.flush();
    this.socket.end();
    // Drains the input, because closing with unread bytes would discard the response.
    this.socket.removeAllListeners('data').on('data', () => this.#discardQueued());
    this.socket.resume();
    this.#disconnected.abort();
  }

  /** Rejects incomplete requests because the memory is needed elsewhere. */
  refuseUnfinished(): void {
    const message = 'The memory for incomplete requests is full';
    this.refuse(null, new RemoteFailure('QUEUE_FULL', message, { retryAfterSecs: 1 }));
  }

  #onData(chunk: Buffer): void {
    this.#reader.push(chunk);
    this.#serveQueued();
  }

  #discardQueued(): void {
    this.socket.pause();
    this.#leaveQueue = this.#context.enter(this, UNITS.piece, () => void this.socket.resume());
  }

  /** Serves input of an unproven connection only when the queue admits it, and reads nothing more until then. */
  #serveQueued(): void {
    if (this.#isQueued) return;
    if (this.#proven) {
      this.#serve();
      return;
    }
    this.#isQueued = true;
    this.#leaveQueue = this.#context.enter(this, UNITS.piece, () => {
      this.#isQueued = false;
      if (this.#isClosing()) return;
      this.#serve();
      this.#resume();
    });
    if (this.#isWaiting()) this.socket.pause();
  }

  /** A function, because the compiler does not see that the queue may admit it immediately. */
  #isWaiting(): boolean {
    return this.#isQueued;
  }

  /** Handles complete frames while request slots are free. */
  #serve(): void {
    const { limits } = this.#context;
    while (this.#refusedAt === null) {
      if (this.#inFlight.size >= limits.in_flight_max || this.#outbox.size > OUTPUT_BYTES_PAUSE) {
        this.#pause();
        break;
      }
      let frame: Frame | null;
      try {
        frame = this.#reader.next();
        if (frame === null) break;
        this.#stage = 'idle';
        this.#take(readRequest(frame));
        if (!this.#proven && this.#reader.buffered > 0) {
          this.#serveQueued();
          break;
        }
      } catch (error) {
        if (error instanceof HeaderFault) this.refuse(error.id, error.failure);
        else this.refuse(null, error as RemoteFailure);
        return;
      }
    }
    this.#noteStage();
  }

  #noteStage(): void {
    if (this.#refusedAt !== null) return;
    const stage = this.#reader.stage;
    if (stage !== this.#stage || stage === 'idle') {
      this.#stage = stage;
      this.#since = this.#context.clock.monotonic();
    }
    this.#count(this.#reader.heldBytes);
  }

  #take(framed: FramedRequest): void {
    const { id } = framed;
    if (this.#inFlight.has(id)) throw new HeaderFault(id, malformed(`id: ${id} is already in flight`));
    this.#inFlight.add(id);
    const received = {
      ingress: 'tcp' as const,
      request: framed.request,
      peer: this.#peer,
      token: framed.token,
      traceparent: framed.traceparent,
      remoteAddress: this.#remoteAddress,
      signal: this.#disconnected.signal,
    };
    const onProgress = framed.progress ? (reply: Reply): void => this.#progress(id, reply) : undefined;
    this.#context.manager.handle(received, onProgress).then(
      (reply) => this.#answer(id, reply),
      (error: unknown) => {
        this.#context.log.error({ err: error }, 'manager failed to respond');
        this.socket.destroy();
      },
    );
  }

  #progress(id: number, { response }: Reply): void {
    // A slow reader misses intermediate progress, not the latest.
    if (!this.#inFlight.has(id) || this.#isClosing() || this.#outbox.size > OUTPUT_BYTES_PAUSE) return;
    this.#outbox.add(responseHeader({ id, final: false, response }), response.payload);
  }

  #answer(id: number, reply: Reply): void {
    const { response } = reply;
    this.#inFlight.delete(id);
    if (this.#isClosing()) return;
    if (this.#outbox.size > this.#context.limits.output_bytes_max) {
      this.#cut('too many unread responses');
      return;
    }
    if (!this.#proven && provesKey(reply)) {
      this.#proven = true;
      this.#context.onProven(this);
    }
    this.#outbox.add(responseHeader({ id, final: true, response }), response.payload);
    if (this.#inFlight.size === 0 && this.#stage === 'idle') this.#since = this.#context.clock.monotonic();
  }

  #afterFlush(): void {
    if (this.#isClosing()) return;
    if (this.#paused) this.#resumeWhenRoom();
    if (this.#draining) this.#endWhenDrained();
  }

  #pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.socket.pause();
  }

  #resumeWhenRoom(): void {
    const { in_flight_max } = this.#context.limits;
    if (!this.#paused || this.#inFlight.size >= in_flight_max || this.#outbox.size > OUTPUT_BYTES_PAUSE) return;
    this.#paused = false;
    this.#since = this.#context.clock.monotonic();
    this.#serveQueued();
    // Buffered requests may have filled the slots again.
    this.#resume();
  }

  #resume(): void {
    if (!this.#paused && !this.#isQueued) this.socket.resume();
  }

  #endWhenDrained(): void {
    if (this.#inFlight.size === 0 && !this.#isClosing()) this.socket.destroySoon();
  }

  #isClosing(): boolean {
    return this.#refusedAt !== null || this.socket.destroyed;
  }

  #cut(why: string): void {
    this.#context.log.debug({ remote_address: this.#remoteAddress }, `closed a connection: ${why}`);
    this.socket.destroy();
  }

  #count(bytes: number): void {
    const delta = bytes - this.#partial;
    this.#partial = bytes;
    if (delta === 0) return;
    this.#context.onPartial(this, delta);
    // The connection may have been cut in the meantime.
    this.#share.hold(this.#partial);
  }

  #onClose(): void {
    this.#count(0);
    this.#inFlight.clear();
    this.#leaveQueue();
    this.#disconnected.abort();
  }
}
