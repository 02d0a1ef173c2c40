import type { FailedTasksDto, HomeDto } from './wire-types.ts';
import type { Transport } from './transport.ts';

/** What an operator sees of the whole system. */
export class OverviewClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Returns what fails, what waits and what needs attention, at most two seconds old. */
  home(): Promise<HomeDto> {
    return this.#transport.json('GET', '/v1/home');
  }

  /** Returns a page of the tasks of a failing group, newest first; `after` is `next` of the page before. */
  failures(fingerprint: string, page: { after?: string; page_size?: number } = {}): Promise<FailedTasksDto> {
    return this.#transport.json('GET', '/v1/failures', { query: { fingerprint, ...page } });
  }
}
