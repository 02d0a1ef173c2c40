import type { FailedTasksDto, HomeDto, ListedQueueDto, SlotDto, SlotPageDto, WorkerDto } from './wire-types.ts';
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

  /** Returns the workers of the last day, the latest seen first. */
  workers(): Promise<WorkerDto[]> {
    return this.#transport.json('GET', '/v1/workers');
  }

  /** Returns the kinds with tasks or workers, and the queues with messages, the fullest first. */
  queues(): Promise<ListedQueueDto[]> {
    return this.#transport.json('GET', '/v1/queues');
  }

  /** Returns a page of the slots that tasks hold or wait for, the fullest first. */
  slots(page: { after?: string; page_size?: number } = {}): Promise<SlotPageDto> {
    return this.#transport.json('GET', '/v1/slots', { query: { ...page } });
  }

  slot(id: string): Promise<SlotDto> {
    return this.#transport.json('GET', `/v1/slots/${encodeURIComponent(id)}`);
  }
}
