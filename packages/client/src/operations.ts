import type { BulkOperationDto, BulkResultDto, RerunDto, RunDefinitionDto, StartedRunDto } from './wire-types.ts';
import type { Transport } from './transport.ts';

/** Operations on runs (batches and workflows), and on many tasks. */
export class OperationsClient {
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

  /** Cancels, pauses, resumes or retries at most 1,000 tasks; returns which changed, and why the others did not. */
  changeTasks(operation: BulkOperationDto['operation'], ids: readonly string[]): Promise<BulkResultDto> {
    return this.#transport.json('POST', '/v1/tasks/bulk', { body: { operation, ids } });
  }

  /** Cancels, pauses, resumes or retries at most 1,000 runs, each as a whole. */
  changeRuns(operation: BulkOperationDto['operation'], ids: readonly string[]): Promise<BulkResultDto> {
    return this.#transport.json('POST', '/v1/runs/bulk', { body: { operation, ids } });
  }
}

function runPath(id: string): string {
  return `/v1/runs/${encodeURIComponent(id)}`;
}
