import type { ExecutorDto } from './wire-types.ts';
import type { Transport } from './transport.ts';

/** The executors that a server sends remote events to. */
export class ExecutorsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Their status at the last response. */
  list(): Promise<ExecutorDto[]> {
    return this.#transport.json('GET', '/v1/executors');
  }
}
