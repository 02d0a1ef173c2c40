import type { ModelDto, ModelTargetDto } from '../http/wire/model.ts';
import type { Transport } from './transport.ts';

export interface ModelListFilter {
  target?: string;
  /** `host`, `service`, `name`, `tls`, `certificate`, or a name of your own. */
  model?: string;
  state?: ModelDto['state'];
  /** Only those whose key begins so. */
  key?: string;
  /** Only those that have this text in their key, or in a text or number of their data, whatever its case. */
  search?: string;
  /** Only those that were new, changed or gone in a run which began then or later (RFC 3339). */
  changed_since?: string;
  page_size?: number;
  /** Id of the last model of the page before. */
  after?: string;
}

const MODELS_PER_PAGE = 100;

/** What is known of the world, over all runs that looked at it. */
export class ModelsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** One page, newest first. */
  list(filter: ModelListFilter = {}): Promise<ModelDto[]> {
    return this.#transport.json('GET', '/v1/models', { query: { ...filter } });
  }

  /** All of them, page by page. */
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

  /** What models are kept of, by name, each with its latest run. */
  targets(page: { page?: number; page_size?: number } = {}): Promise<ModelTargetDto[]> {
    return this.#transport.json('GET', '/v1/models/targets', { query: { ...page } });
  }
}
