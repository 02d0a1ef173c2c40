import type { Page, TaskListFilter, WorkflowListFilter } from './requests.ts';
import type { QueryValues, Transport } from './transport.ts';
import type { BasicTaskDto, BatchDto, WorkflowDto } from './wire-types.ts';

/** One page of a list. It may be short, or empty, and still have a next one. */
export interface ListPage<Item> {
  items: Item[];
  /** The `after` of the next page; null if there is none. */
  next: string | null;
}

/** Lists that grow with all that was ever stored, page by page. */
export class PagesClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  tasks({ metadata, ...filter }: TaskListFilter = {}): Promise<ListPage<BasicTaskDto>> {
    return this.#read('/task', {
      ...filter,
      ...(metadata === undefined ? {} : { metadata: JSON.stringify(metadata) }),
    });
  }

  batches(filter: Page & { open?: boolean; after?: string } = {}): Promise<ListPage<BatchDto>> {
    return this.#read('/v1/batches', { ...filter });
  }

  workflows(filter: WorkflowListFilter = {}): Promise<ListPage<WorkflowDto>> {
    return this.#read('/v1/workflows', { ...filter });
  }

  async #read<Item>(path: string, query: QueryValues): Promise<ListPage<Item>> {
    const response = await this.#transport.send('GET', path, { query });
    const [, next] = /[?&]after=([^&>]+)[^>]*>; rel="next"/.exec(response.headers.get('link') ?? '') ?? [];
    return { items: (await response.json()) as Item[], next: next ?? null };
  }
}
