import type { IncomingMessage } from 'node:http';

import type { App } from '../routes/context.ts';
import type { RequestState } from '../request-state.ts';

/** What was found out about a request before it was handed over to the framework. */
interface HandedOver {
  state: RequestState;
  /** Why it failed, for the framework to answer; absent: the framework serves it as a whole. */
  failure?: unknown;
}

const requests = new WeakMap<IncomingMessage, HandedOver>();

export function handOver(request: IncomingMessage, given: HandedOver): void {
  requests.set(request, given);
}

export function handedOver(request: IncomingMessage): HandedOver | undefined {
  return requests.get(request);
}

/** Fails the requests that failed before they were handed over; the hooks before this one have authorized them. */
export function answerFailures(app: App): void {
  app.addHook('onRequest', (request, _reply, done) => done(requests.get(request.raw)?.failure as Error | undefined));
}
