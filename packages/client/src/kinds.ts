import type { KindDto, SchemasDto } from './wire-types.ts';
import type { Transport } from './transport.ts';

/** Kinds of tasks: what they do, their inputs, and who runs them. */
export class KindsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Returns kinds by name, 1,000 by default. */
  list(filter: { page_size?: number; after?: string } = {}): Promise<KindDto[]> {
    return this.#transport.json('GET', '/v1/kinds', { query: { ...filter } });
  }

  /** Returns the JSON Schemas of what can be submitted. */
  schemas(): Promise<SchemasDto> {
    return this.#transport.json('GET', '/v1/schemas');
  }

  get(name: string): Promise<KindDto> {
    return this.#transport.json('GET', `/v1/kinds/${encodeURIComponent(name)}`);
  }
}
