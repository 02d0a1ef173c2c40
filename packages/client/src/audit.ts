import type { AuditEntryDto } from './wire-types.ts';
import type { Transport } from './transport.ts';

export interface AuditFilter {
  actor?: string;
  /** Such as `POST /v1/jobs`. */
  action?: string;
  object?: string;
  /** Only at or after this time (RFC 3339). */
  since?: string;
  page_size?: number;
  /** Only entries after this one, oldest first. */
  after?: number;
  /** Only entries before this one, newest first. */
  before?: number;
}

/** The audit log: who did what. */
export class AuditClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Returns one page, newest first; with `after` oldest first. */
  list(filter: AuditFilter = {}): Promise<AuditEntryDto[]> {
    return this.#transport.json('GET', '/v1/audit', { query: { ...filter } });
  }
}
