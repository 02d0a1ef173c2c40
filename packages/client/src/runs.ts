import type {
  RunDetailDto,
  RunDto,
  RunGridDto,
  RunListDto,
  RunNameListDto,
  SearchDto,
  TimelineDto,
} from './wire-types.ts';
import type { Transport } from './transport.ts';

export interface RunPage {
  page_size?: number;
  /** The `next` of the page before. */
  after?: string;
}

export interface RunListFilter extends RunPage {
  /** `open`: with unfinished tasks; `failing`: with failed tasks, whether it has ended or not; or one state. */
  state?: 'open' | 'failing' | RunDto['state'];
  name?: string;
  /** Part of the name, case-insensitive. */
  q?: string;
  type?: RunDto['type'];
  /** Only those with tasks of this kind. */
  kind?: string;
  /** Only those of this job, by id or name. */
  job?: string;
  /** Only with tasks of this group of failures (`failing` of Home). */
  fingerprint?: string;
  /** JSON that the metadata of one of its tasks must contain. */
  metadata?: Record<string, unknown>;
  /** Only created at or after this time, and before that one (RFC 3339). */
  since?: string;
  until?: string;
}

/** Batches and workflows in one list. */
export class RunsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Returns one page, newest first. A page may have few runs, or none, and still have a `next` one. */
  list({ metadata, ...filter }: RunListFilter = {}): Promise<RunListDto> {
    const query = { ...filter, metadata: metadata === undefined ? undefined : JSON.stringify(metadata) };
    return this.#transport.json('GET', '/v1/runs', { query });
  }

  /** Yields all of them, page by page. */
  async *all(filter: RunListFilter = {}): AsyncGenerator<RunDto> {
    let { after } = filter;
    for (;;) {
      const page = await this.list({ ...filter, ...(after === undefined ? {} : { after }) });
      yield* page.runs;
      if (page.next === null) return;
      after = page.next;
    }
  }

  get(id: string): Promise<RunDetailDto> {
    return this.#transport.json('GET', runPath(id));
  }

  /** Returns names by their newest runs. */
  names(filter: RunPage & { q?: string } = {}): Promise<RunNameListDto> {
    return this.#transport.json('GET', '/v1/runs/names', { query: { ...filter } });
  }

  /** Compares the newest runs with this name task by task. */
  grid(name: string, page: { page_size?: number } = {}): Promise<RunGridDto> {
    return this.#transport.json('GET', '/v1/runs/grid', { query: { name, ...page } });
  }

  /** Returns where its tasks stand in time: at most 2,000 rows, some of which are groups of equal siblings. */
  timeline(id: string): Promise<TimelineDto> {
    return this.#transport.json('GET', `${runPath(id)}/timeline`);
  }

  /** Finds anything by part of its name, runs and tasks also by the beginning of their ids; `limit` of each type. */
  search(q: string, options: { limit?: number } = {}): Promise<SearchDto> {
    return this.#transport.json('GET', '/v1/search', { query: { q, ...options } });
  }
}

function runPath(id: string): string {
  return `/v1/runs/${encodeURIComponent(id)}`;
}
