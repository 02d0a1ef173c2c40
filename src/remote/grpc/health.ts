import type { sendUnaryData, ServerUnaryCall, ServerWritableStream, UntypedServiceImplementation } from '@grpc/grpc-js';

import type { Clock } from '../../runtime/clock.ts';
import type { RemoteManager } from '../manager/port.ts';
import type { GrpcPackage } from './packages.ts';
import { EXECUTOR_SERVICE } from './wire.ts';

export const HEALTH_SERVICE = 'grpc.health.v1.Health';

type Serving = 'SERVING' | 'NOT_SERVING' | 'SERVICE_UNKNOWN';
interface CheckRequest {
  service: string;
}
interface CheckResponse {
  status: Serving;
}
type WatchCall = ServerWritableStream<CheckRequest, CheckResponse>;

/** How long a change of health goes unnoticed by those who watch. */
const WATCH_INTERVAL_MS = 1_000;

/** The health service: asked by name, the empty name being the whole executor. */
export class HealthService {
  readonly #manager: RemoteManager;
  readonly #clock: Clock;
  readonly #grpc: GrpcPackage;
  readonly #watchers = new Map<WatchCall, Serving>();
  #looking = false;
  #closing = false;

  constructor(grpc: GrpcPackage, manager: RemoteManager, clock: Clock) {
    this.#grpc = grpc;
    this.#manager = manager;
    this.#clock = clock;
  }

  get implementation(): UntypedServiceImplementation {
    return {
      Check: (call: ServerUnaryCall<CheckRequest, CheckResponse>, answer: sendUnaryData<CheckResponse>) => {
        const status = this.#statusOf(call.request.service);
        if (status === 'SERVICE_UNKNOWN') answer({ code: this.#grpc.status.NOT_FOUND, details: 'no such service' });
        else answer(null, { status });
      },
      Watch: (call: WatchCall) => this.#watch(call),
    };
  }

  /** Tells those who watch that it is over, and lets them go. */
  close(): void {
    this.#closing = true;
    this.#look();
    for (const call of this.#watchers.keys()) call.end();
    this.#watchers.clear();
  }

  #statusOf(service: string): Serving {
    if (service !== '' && service !== EXECUTOR_SERVICE) return 'SERVICE_UNKNOWN';
    return this.#closing || this.#manager.health().status === 'draining' ? 'NOT_SERVING' : 'SERVING';
  }

  #watch(call: WatchCall): void {
    const status = this.#statusOf(call.request.service);
    call.once('cancelled', () => this.#watchers.delete(call));
    this.#watchers.set(call, status);
    call.write({ status });
    if (this.#closing) call.end();
    else this.#lookLater();
  }

  #lookLater(): void {
    if (this.#looking) return;
    this.#looking = true;
    this.#clock.after(WATCH_INTERVAL_MS, () => {
      this.#looking = false;
      this.#look();
      if (this.#watchers.size > 0) this.#lookLater();
    });
  }

  #look(): void {
    for (const [call, told] of this.#watchers) {
      const status = this.#statusOf(call.request.service);
      // One who does not read gets the next change instead.
      if (status === told || call.writableNeedDrain) continue;
      this.#watchers.set(call, status);
      call.write({ status });
    }
  }
}
