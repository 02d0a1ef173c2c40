import type { DeadLetterDto, QueueDto, RedrivenDto } from './wire-types.ts';
import type { Transport } from './transport.ts';

interface Page {
  page?: number;
  page_size?: number;
}

/** The queues behind workflows: `manager`, and `worker:KIND` for each kind. */
export class QueuesClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  get(name: string): Promise<QueueDto> {
    return this.#transport.json('GET', queuePath(name));
  }

  /** Returns the messages that were dead-lettered, oldest first; of all queues by default. */
  deadLetters(filter: Page & { queue?: string } = {}): Promise<DeadLetterDto[]> {
    return this.#transport.json('GET', '/v1/dead-letters', { query: { ...filter } });
  }

  /** Returns dead letters to their queue, all of them if no ids are given; returns their number. */
  async redrive(name: string, ids?: readonly string[]): Promise<number> {
    const body = ids === undefined ? {} : { ids };
    return (await this.#transport.json<RedrivenDto>('POST', `${queuePath(name)}/redrive`, { body })).redriven;
  }
}

function queuePath(name: string): string {
  return `/v1/queues/${encodeURIComponent(name)}`;
}
