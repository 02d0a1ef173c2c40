import type { ServerDuplexStream } from '@grpc/grpc-js';

import type { Clock } from '../../runtime/clock.ts';
import type { GrpcLimits } from './limits.ts';
import type { Peer } from './peers.ts';
import type { GRPC_STATUS } from './status.ts';

export type RawCall = ServerDuplexStream<Buffer, Buffer>;

/** Told one of the two, once. */
export interface ArrivalEnd {
  /** The message is there; its connection holds its bytes until `Peer.release`. */
  arrived(message: Buffer): void;
  failed(status: keyof typeof GRPC_STATUS, details: string): void;
}

/** The one message of a call on its way here: it has so much time, and counts to its connection while it comes. */
export class Arrival {
  readonly #peer: Peer;
  readonly #end: ArrivalEnd;
  readonly #cancelDeadline: () => void;
  #message: Buffer | null = null;
  #over = false;

  constructor(call: RawCall, peer: Peer, { clock, limits }: { clock: Clock; limits: GrpcLimits }, end: ArrivalEnd) {
    this.#peer = peer;
    this.#end = end;
    peer.begin();
    this.#cancelDeadline = clock.after(limits.body_ms, () =>
      this.#fail('DEADLINE_EXCEEDED', 'the request did not arrive in time'),
    );
    call.on('data', (message: Buffer) => {
      if (this.#message === null) this.#message = message;
      else this.#fail('INVALID_ARGUMENT', 'one message is a request, not several');
    });
    call.on('end', () => this.#complete());
    call.once('cancelled', () => this.giveUp());
  }

  /** Nobody waits for it any more. */
  giveUp(): void {
    this.#stop(0);
  }

  #complete(): void {
    const message = this.#message;
    if (this.#over) return;
    if (message === null) this.#fail('INVALID_ARGUMENT', 'the request has no message');
    else {
      this.#stop(message.length);
      this.#end.arrived(message);
    }
  }

  #fail(status: keyof typeof GRPC_STATUS, details: string): void {
    if (this.#over) return;
    this.#stop(0);
    this.#end.failed(status, details);
  }

  #stop(bytes: number): void {
    if (this.#over) return;
    this.#over = true;
    // What holds this must not hold the message as well.
    this.#message = null;
    this.#cancelDeadline();
    this.#peer.complete(bytes);
  }
}
