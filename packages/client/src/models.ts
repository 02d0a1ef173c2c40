import type { ModelDto, ModelTargetDto } from './wire-types.ts';
import type { Transport } from './transport.ts';

export interface ModelListFilter {
  target?: string;
  /** `host`, `service`, `name`, `tls`, `certificate`, or a custom type. */
  model?: string;
  state?: ModelDto['state'];
  /** Only those whose key has this prefix. */
  key?: string;
  /** Only those with this string in their key, or in a string or number of their data, case-insensitive. */
  search?: string;
  /** Only those that were new, changed or gone in a run which began at or after this time (RFC 3339). */
  changed_since?: string;
  page_size?: number;
  /** Id of the last model of the previous page. */
  after?: string;
}

const MODELS_PER_PAGE = 100;

/** The known state of hosts, services and names, over all runs that observed them. */
export class ModelsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Returns one page, newest first. */
  list(filter: ModelListFilter = {}): Promise<ModelDto[]> {
    return this.#transport.json('GET', '/v1/models', { query: { ...filter } });
  }

  /** Yields all of them, page by page. */
  async *all(filter: ModelListFilter = {}): AsyncGenerator<ModelDto> {
    let { after } = filter;
    const { page_size = MODELS_PER_PAGE } = filter;
    for (;;) {
      const page = await this.list({ ...filter, page_size, ...(after === undefined ? {} : { after }) });
      yield* page;
      if (page.length < page_size) return;
      after = page.at(-1)!.id;
    }
  }

  get(id: string): Promise<ModelDto> {
    return this.#transport.json('GET', `/v1/models/${encodeURIComponent(id)}`);
  }

  /** Returns the targets of models by name, each with its latest run. */
  targets(page: { page?: number; page_size?: number } = {}): Promise<ModelTargetDto[]> {
    return this.#transport.json('GET', '/v1/models/targets', { query: { ...page } });
  }
}
