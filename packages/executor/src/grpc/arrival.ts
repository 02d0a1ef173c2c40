import type { ServerDuplexStream } from '@grpc/grpc-js';

import type { Clock } from '@heddle/base/clock';
import type { GrpcLimits } from './limits.ts';
import type { Peer } from './peers.ts';
import type { GRPC_STATUS } from './status.ts';

export type RawCall = ServerDuplexStream<Buffer, Buffer>;

/** Callbacks for the end of an arrival; exactly one is called, once. */
export interface ArrivalEnd {
  /** Called with the message; its connection holds the bytes until `Peer.release`. */
  arrived(message: Buffer): void;
  failed(status: keyof typeof GRPC_STATUS, details: string): void;
}

/** Receives the single message of a call within a time limit, and charges it to its connection meanwhile. */
export class Arrival {
  readonly #peer: Peer;
  readonly #end: ArrivalEnd;
  readonly #cancelDeadline: () => void;
  #message: Buffer | null = null;
  #ended = false;

  constructor(call: RawCall, peer: Peer, { clock, limits }: { clock: Clock; limits: GrpcLimits }, end: ArrivalEnd) {
    this.#peer = peer;
    this.#end = end;
    peer.begin();
    this.#cancelDeadline = clock.after(limits.body_ms, () =>
      this.#fail('DEADLINE_EXCEEDED', 'the request did not arrive in time'),
    );
    call.on('data', (message: Buffer) => {
      if (this.#message === null) this.#message = message;
      else this.#fail('INVALID_ARGUMENT', 'a request must be a single message');
    });
    call.on('end', () => this.#complete());
    call.once('cancelled', () => this.abandon());
  }

  /** Stops waiting for the message. */
  abandon(): void {
    this.#stop(0);
  }

  #complete(): void {
    const message = this.#message;
    if (this.#ended) return;
    if (message === null) this.#fail('INVALID_ARGUMENT', 'the request has no message');
    else {
      this.#stop(message.length);
      this.#end.arrived(message);
    }
  }

  #fail(status: keyof typeof GRPC_STATUS, details: string): void {
    if (this.#ended) return;
    this.#stop(0);
    this.#end.failed(status, details);
  }

  #stop(bytes: number): void {
    if (this.#ended) return;
    this.#ended = true;
    // Drops the message, because this object may live longer.
    this.#message = null;
    this.#cancelDeadline();
    this.#peer.complete(bytes);
  }
}
