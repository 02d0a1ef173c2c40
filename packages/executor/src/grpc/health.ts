import type { MethodDefinition } from '@grpc/proto-loader';

import type { Clock } from '@heddle/base/clock';
import type { RemoteManager } from '../manager/port.ts';
import { Arrival, type RawCall } from './arrival.ts';
import type { GrpcLimits } from './limits.ts';
import { loadProto, serviceOf } from './packages.ts';
import type { Peers } from './peers.ts';
import { GRPC_STATUS } from './status.ts';
import { EXECUTOR_SERVICE } from './wire.ts';

const HEALTH_SERVICE = 'grpc.health.v1.Health';

type Serving = 'SERVING' | 'NOT_SERVING' | 'SERVICE_UNKNOWN';
type Method = MethodDefinition<{ service: string }, { status: Serving }>;

interface Watcher {
  readonly service: string;
  lastStatus: Serving;
}

/** Shared parts of a listener's health calls. */
export interface HealthOptions {
  readonly manager: RemoteManager;
  readonly peers: Peers;
  readonly limits: GrpcLimits;
  readonly clock: Clock;
}

/** Longest delay before watchers see a change. */
const WATCH_INTERVAL_MS = 1_000;
const UNKNOWN = '?';

/** gRPC health service. The empty service name stands for the whole executor. */
export class HealthService {
  readonly #options: HealthOptions;
  readonly #check: Method;
  readonly #watch: Method;
  readonly #watchers = new Map<RawCall, Watcher>();
  #isScheduled = false;
  #closing = false;

  static async load(options: HealthOptions): Promise<HealthService> {
    const service = serviceOf(await loadProto('health.proto'), HEALTH_SERVICE);
    return new HealthService(options, service['Check'] as Method, service['Watch'] as Method);
  }

  private constructor(options: HealthOptions, check: Method, watch: Method) {
    this.#options = options;
    this.#check = check;
    this.#watch = watch;
  }

  /** Returns the calls by path. They have the executor's own limits, because unauthenticated callers may use them. */
  get calls(): ReadonlyMap<string, (call: RawCall) => void> {
    return new Map([
      [this.#check.path, (call: RawCall) => this.#receive(call, (service) => this.#answer(call, service))],
      [this.#watch.path, (call: RawCall) => this.#receive(call, (service) => this.#addWatcher(call, service))],
    ]);
  }

  /** Notifies watchers of the shutdown and ends their calls. */
  close(): void {
    this.#closing = true;
    this.#notifyWatchers();
    for (const call of this.#watchers.keys()) call.end();
    this.#watchers.clear();
  }

  #statusOf(service: string): Serving {
    if (service !== '' && service !== EXECUTOR_SERVICE) return 'SERVICE_UNKNOWN';
    return this.#closing || this.#options.manager.health().status === 'draining' ? 'NOT_SERVING' : 'SERVING';
  }

  #receive(call: RawCall, serve: (service: string) => void): void {
    const peer = this.#options.peers.get(call.getPeer());
    if (peer === undefined) {
      fail(call, 'UNAVAILABLE', 'the connection is closing');
      return;
    }
    new Arrival(call, peer, this.#options, {
      arrived: (message) => {
        peer.release(message.length);
        const service = this.#serviceOf(message);
        if (service === null) fail(call, 'INVALID_ARGUMENT', 'the message is not a HealthCheckRequest');
        else serve(service);
      },
      failed: (status, details) => fail(call, status, details),
    });
  }

  #serviceOf(message: Buffer): string | null {
    try {
      return this.#check.requestDeserialize(message).service;
    } catch {
      return null;
    }
  }

  #answer(call: RawCall, service: string): void {
    const status = this.#statusOf(service);
    if (status === 'SERVICE_UNKNOWN') fail(call, 'NOT_FOUND', 'no such service');
    else {
      call.write(this.#check.responseSerialize({ status }));
      call.end();
    }
  }

  #addWatcher(call: RawCall, service: string): void {
    const lastStatus = this.#statusOf(service);
    call.once('cancelled', () => this.#watchers.delete(call));
    // Unknown names are not retained: they may be as long as a request.
    this.#watchers.set(call, { service: lastStatus === 'SERVICE_UNKNOWN' ? UNKNOWN : service, lastStatus });
    call.write(this.#check.responseSerialize({ status: lastStatus }));
    if (this.#closing) call.end();
    else this.#scheduleUpdate();
  }

  #scheduleUpdate(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#options.clock.after(WATCH_INTERVAL_MS, () => {
      this.#isScheduled = false;
      this.#notifyWatchers();
      if (this.#watchers.size > 0) this.#scheduleUpdate();
    });
  }

  #notifyWatchers(): void {
    for (const [call, watcher] of this.#watchers) {
      const status = this.#statusOf(watcher.service);
      // A watcher that does not read gets the next change instead.
      if (status === watcher.lastStatus || call.writableNeedDrain) continue;
      watcher.lastStatus = status;
      call.write(this.#check.responseSerialize({ status }));
    }
  }
}

function fail(call: RawCall, status: keyof typeof GRPC_STATUS, details: string): void {
  call.emit('error', { code: GRPC_STATUS[status], details });
}
