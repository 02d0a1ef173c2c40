import type { CallOptions } from '../client/port.ts';
import type { SignedRequest, SignedResponse } from '../protocol/envelope.ts';

/** A call in progress: settled once, by its response or a failure. */
export class Call {
  readonly request: SignedRequest;
  readonly options: CallOptions;
  readonly answer: Promise<SignedResponse>;
  readonly #settle: PromiseWithResolvers<SignedResponse>;
  readonly #onAbort: () => void;

  /** @param onAbort called if the caller aborts before the call is settled */
  constructor(request: SignedRequest, options: CallOptions, onAbort: (call: Call) => void) {
    this.request = request;
    this.options = options;
    this.#settle = Promise.withResolvers();
    this.answer = this.#settle.promise;
    this.#onAbort = () => onAbort(this);
    options.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  resolve(response: SignedResponse): void {
    this.options.signal.removeEventListener('abort', this.#onAbort);
    this.#settle.resolve(response);
  }

  reject(error: Error): void {
    this.options.signal.removeEventListener('abort', this.#onAbort);
    this.#settle.reject(error);
  }
}
