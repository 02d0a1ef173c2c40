import type { Clock } from '@heddle/base/clock';
import type { Source } from './credentials.ts';
import type { OpenTransport } from './options.ts';
import type { ClientTls, ClientTransport, Endpoint } from './port.ts';

export interface ConnectionOptions {
  readonly endpoint: Endpoint;
  readonly url: string;
  readonly tls: Source<ClientTls | null>;
  readonly open: OpenTransport;
  readonly clock: Clock;
}

/** A transport and the number of calls using it. */
class OpenConnection {
  readonly tls: ClientTls | null;
  readonly opening: Promise<ClientTransport>;
  calls = 0;
  #retired: (() => void) | null = null;

  constructor(tls: ClientTls | null, opening: Promise<ClientTransport>) {
    this.tls = tls;
    this.opening = opening;
  }

  release(): void {
    this.calls -= 1;
    if (this.calls === 0) this.#retired?.();
  }

  /** Resolves once no call uses the transport and it is closed. */
  async retire(): Promise<void> {
    if (this.calls > 0) await new Promise<void>((resolve) => (this.#retired = resolve));
    await this.close();
  }

  async close(): Promise<void> {
    const transport = await this.opening.catch(() => null);
    await transport?.close();
  }
}

/** Transport to one endpoint. New certificates open a new transport for subsequent calls. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #retiring = new Set<Promise<void>>();
  #current: OpenConnection | null = null;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** @throws TypeError if the endpoint needs certificates and has none; any error from opening the transport */
  async use<T>(run: (transport: ClientTransport) => Promise<T>): Promise<T> {
    const held = await this.#acquire();
    held.calls += 1;
    try {
      return await run(await this.#opened(held));
    } finally {
      held.release();
    }
  }

  async #acquire(): Promise<OpenConnection> {
    const { endpoint, url, open, clock } = this.#options;
    const tls = endpoint.tls ? await this.#options.tls.current() : null;
    if (endpoint.tls && tls === null) {
      throw new TypeError(`the endpoint ${url} needs the certificate of its authority; set tls.ca`);
    }
    if (this.#current !== null && this.#current.tls === tls) return this.#current;
    const before = this.#current;
    this.#current = new OpenConnection(tls, Promise.resolve(open(endpoint, tls, clock)));
    if (before !== null) {
      const retiring = before.retire().finally(() => this.#retiring.delete(retiring));
      this.#retiring.add(retiring);
    }
    return this.#current;
  }

  async #opened(held: OpenConnection): Promise<ClientTransport> {
    try {
      return await held.opening;
    } catch (error) {
      if (this.#current === held) this.#current = null;
      throw error;
    }
  }

  /** Closes the transport and waits for retiring ones. */
  async close(): Promise<void> {
    const held = this.#current;
    this.#current = null;
    await held?.close();
    await Promise.all(this.#retiring);
  }
}
