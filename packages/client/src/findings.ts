import type { BulkResultDto, FindingChangeDto, FindingDetailDto, FindingDto, ScanTargetDto } from './wire-types.ts';
import type { Transport } from './transport.ts';

export interface FindingListFilter {
  target?: string;
  /** Id of a rule. */
  rule?: string;
  state?: FindingDto['state'];
  triage?: FindingDto['triage']['state'];
  /** Only in objects whose path has this prefix. */
  path?: string;
  /** Only those that are at least this certain. */
  confidence?: FindingDto['confidence'];
  /** Only those whose secret has this verdict. */
  verdict?: NonNullable<FindingDto['verification']>['verdict'];
  /** The `secret_id` of a finding: everywhere the same secret was found. */
  secret?: string;
  /** Only those first seen at or after this time (RFC 3339). */
  since?: string;
  page_size?: number;
  /** Id of the last finding of the previous page. */
  after?: string;
}

const FINDINGS_PER_PAGE = 100;

/** Secrets found by scans, over all their runs. */
export class FindingsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Returns one page, newest first. */
  list(filter: FindingListFilter = {}): Promise<FindingDto[]> {
    return this.#transport.json('GET', '/v1/findings', { query: { ...filter } });
  }

  /** Yields all of them, page by page. */
  async *all(filter: FindingListFilter = {}): AsyncGenerator<FindingDto> {
    let { after } = filter;
    const { page_size = FINDINGS_PER_PAGE } = filter;
    for (;;) {
      const page = await this.list({ ...filter, page_size, ...(after === undefined ? {} : { after }) });
      yield* page;
      if (page.length < page_size) return;
      after = page.at(-1)!.id;
    }
  }

  get(id: string): Promise<FindingDetailDto> {
    return this.#transport.json('GET', findingPath(id));
  }

  /** Sets the triage status; the comment replaces the previous one. */
  change(id: string, change: FindingChangeDto): Promise<FindingDetailDto> {
    return this.#transport.json('PATCH', findingPath(id), { body: change });
  }

  /** Triages at most 1,000 findings; returns which changed, and why the others did not. */
  changeMany(ids: readonly string[], change: FindingChangeDto): Promise<BulkResultDto> {
    return this.#transport.json('POST', '/v1/findings/bulk', { body: { ...change, ids } });
  }

  /** Returns the scanned targets by name, each with its latest run. */
  targets(page: { page?: number; page_size?: number } = {}): Promise<ScanTargetDto[]> {
    return this.#transport.json('GET', '/v1/findings/targets', { query: { ...page } });
  }
}

function findingPath(id: string): string {
  return `/v1/findings/${encodeURIComponent(id)}`;
}
