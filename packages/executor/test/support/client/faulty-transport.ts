import { TransportFailure, type CallOptions, type ClientTransport } from '../../../src/client/port.ts';
import type { SignedRequest, SignedResponse } from '../../../src/protocol/envelope.ts';
import type { Clock } from '@heddle/base/clock';

/** Fault that a network causes for one call. */
export const FAULTS = [
  'none',
  'refused',
  'lost_on_the_way_there',
  'lost_on_the_way_back',
  'delivered_late',
  'delivered_twice',
  'swallowed',
  'forged',
] as const;
export type Fault = (typeof FAULTS)[number];

export interface FaultyOptions {
  /** What the executor does with a request. */
  handle: (request: SignedRequest) => Promise<SignedResponse>;
  endpoint: ClientTransport['endpoint'];
  clock: Clock;
  /** Fault of the next call. */
  next: (request: SignedRequest) => Fault;
  lateMs: () => number;
}

/** A network that loses, delays, repeats and alters messages, and never claims more than it knows. */
export class FaultyTransport implements ClientTransport {
  readonly endpoint: ClientTransport['endpoint'];
  readonly #options: FaultyOptions;

  constructor(options: FaultyOptions) {
    this.#options = options;
    this.endpoint = options.endpoint;
  }

  async call(request: SignedRequest, { signal }: CallOptions): Promise<SignedResponse> {
    const { handle, clock, next, lateMs } = this.#options;
    switch (next(request)) {
      case 'none':
        return handle(request);
      case 'refused':
        throw new TransportFailure('connection refused', false);
      case 'lost_on_the_way_there':
        throw new TransportFailure('connection reset', true);
      case 'lost_on_the_way_back':
        void handle(request);
        throw new TransportFailure('connection reset', true);
      case 'delivered_late':
        clock.after(lateMs(), () => void handle(request));
        throw new TransportFailure('no answer', true);
      case 'delivered_twice': {
        const first = handle(request);
        const second = handle(request);
        return (await Promise.all([first, second]))[1];
      }
      case 'swallowed':
        void handle(request);
        return await new Promise((_resolve, reject) => {
          const onAbort = (): void => reject(signal.reason as Error);
          signal.addEventListener('abort', onAbort, { once: true });
        });
      case 'forged': {
        const response = await handle(request);
        return {
          ...response,
          payload: Buffer.from(Buffer.from(response.payload).toString().replace('success', 'failure')),
        };
      }
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** @param weights relative likelihood of each fault @param share uniform in [0, 1) */
export function draw(weights: readonly number[], share: number): Fault {
  // At least half of the calls succeed, so that the network differs from a dead one.
  const sum = weights.reduce((total, weight) => total + weight, 0);
  let at = share * sum * 2;
  for (const [index, weight] of weights.entries()) {
    at -= weight;
    if (at < 0) return FAULTS[index]!;
  }
  return 'none';
}
