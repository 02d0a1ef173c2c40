import type { RerunDto, RunDefinitionDto, StartedRunDto } from './wire-types.ts';
import type { Transport } from './transport.ts';

/** What was submitted as a run (a batch or a workflow), and running it again. */
export class RunOperationsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Returns the body with which an equal run can be submitted; secrets of its requests are redacted. */
  definition(id: string): Promise<RunDefinitionDto> {
    return this.#transport.json('GET', `${runPath(id)}/definition`);
  }

  /** Submits the definition of a run as a new run, with its secrets. A repeat with the same key starts nothing. */
  rerun(id: string, { idempotencyKey, ...body }: RerunDto & { idempotencyKey?: string } = {}): Promise<StartedRunDto> {
    const headers = { 'idempotency-key': idempotencyKey };
    return this.#transport.json('POST', `${runPath(id)}/rerun`, { body, headers });
  }
}

function runPath(id: string): string {
  return `/v1/runs/${encodeURIComponent(id)}`;
}
