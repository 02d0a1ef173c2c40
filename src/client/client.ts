import type { NewActionDto } from '../http/wire/action.ts';
import type { BatchChangeDto, BatchDetailDto, BatchDto, DagDto } from '../http/wire/batch.ts';
import type { ActionDefinitionDto, RuleDefinitionDto } from '../http/wire/definition.ts';
import type { DeliveryDto } from '../http/wire/delivery.ts';
import type { ExplanationDto } from '../http/wire/explanation.ts';
import type { HealthDto, ReadyDto } from '../http/wire/health.ts';
import type { NewTaskDto } from '../http/wire/new-task.ts';
import type { RuleDto } from '../http/wire/rule.ts';
import type { BasicTaskDto, TaskDto } from '../http/wire/task.ts';
import type { ProgressDto, UpdateTaskDto } from '../http/wire/update.ts';
import { errorOf, HeddleApiError } from './error.ts';
import { readEvents } from './event-stream.ts';
import { Transport, type ClientOptions } from './transport.ts';

export { HeddleApiError } from './error.ts';
export type { ClientOptions } from './transport.ts';

export interface Page {
  page?: number;
  page_size?: number;
}

export interface TaskListFilter extends Page {
  status?: BasicTaskDto['status'];
  kind?: string;
  name?: string;
  batch_id?: string;
  /** What the metadata must contain. */
  metadata?: Record<string, unknown>;
}

export interface SubmitOptions {
  /** What people call the batch. */
  batchName?: string;
  /** A repeat with the same key answers the first answer and creates nothing. */
  idempotencyKey?: string;
}

export interface Submitted<Task> {
  /** Null where nothing was asked for. */
  batchId: string | null;
  tasks: Task[];
}

/** One event of a batch's stream. After `end` nothing follows. */
export type BatchEvent = { type: 'change' | 'end' } & BatchChangeDto;

const RECONNECT_MS = 1000;
const RECONNECT_MAX_MS = 15_000;

/** The API, typed. Failures are HeddleApiError; what `fetch` throws when the server cannot be reached passes through. */
export class HeddleClient {
  readonly #transport: Transport;
  readonly #sleep: ClientOptions['sleep'];

  constructor(options: ClientOptions) {
    this.#transport = new Transport(options);
    this.#sleep = options.sleep;
  }

  async submit(tasks: readonly NewTaskDto[], options: SubmitOptions = {}): Promise<Submitted<TaskDto>> {
    return this.#submit<TaskDto>(tasks, options, undefined);
  }

  /** Answers ids only. */
  async submitMinimal(tasks: readonly NewTaskDto[], options: SubmitOptions = {}): Promise<Submitted<{ id: string }>> {
    return this.#submit<{ id: string }>(tasks, options, 'return=minimal');
  }

  async #submit<Task>(
    tasks: readonly NewTaskDto[],
    options: SubmitOptions,
    prefer: string | undefined,
  ): Promise<Submitted<Task>> {
    const headers = { prefer, 'idempotency-key': options.idempotencyKey };
    const response = await this.#transport.send('POST', '/task', {
      body: tasks,
      headers,
      query: { batch_name: options.batchName },
    });
    const batchId = response.headers.get('x-batch-id');
    return { batchId, tasks: response.status === 204 ? [] : ((await response.json()) as Task[]) };
  }

  getTask(id: string): Promise<TaskDto> {
    return this.#transport.json('GET', taskPath(id));
  }

  listTasks({ metadata, ...filter }: TaskListFilter = {}): Promise<BasicTaskDto[]> {
    const query = { ...filter, metadata: metadata === undefined ? undefined : JSON.stringify(metadata) };
    return this.#transport.json('GET', '/task', { query });
  }

  updateTask(id: string, update: UpdateTaskDto): Promise<TaskDto> {
    return this.#transport.json('PATCH', taskPath(id), { body: update });
  }

  /** Ends a task; `reason` is needed where it failed. */
  finishTask(id: string, status: 'Success' | 'Failure', reason?: string): Promise<TaskDto> {
    return this.updateTask(id, { status, ...(reason === undefined ? {} : { failure_reason: reason }) });
  }

  /** Resolves after the counts are durable. */
  async countProgress(
    id: string,
    progress: ProgressDto,
    options: Pick<SubmitOptions, 'idempotencyKey'> = {},
  ): Promise<'applied' | 'repeated'> {
    const headers = { 'idempotency-key': options.idempotencyKey };
    const answer = await this.#transport.json<{ result: 'applied' | 'repeated' }>('PUT', taskPath(id), {
      body: progress,
      headers,
    });
    return answer.result;
  }

  cancelTask(id: string): Promise<TaskDto> {
    return this.#transport.json('DELETE', taskPath(id));
  }

  pauseTask(id: string): Promise<TaskDto> {
    return this.#transport.json('PATCH', `/task/pause/${encodeURIComponent(id)}`);
  }

  resumeTask(id: string): Promise<TaskDto> {
    return this.#transport.json('PATCH', `/task/resume/${encodeURIComponent(id)}`);
  }

  retryTask(id: string): Promise<TaskDto> {
    return this.#transport.json('POST', `/v1/tasks/${encodeURIComponent(id)}/retry`);
  }

  explainTask(id: string): Promise<ExplanationDto> {
    return this.#transport.json('GET', `/v1/tasks/${encodeURIComponent(id)}/explain`);
  }

  getDag(batchId: string): Promise<DagDto> {
    return this.#transport.json('GET', `/dag/${encodeURIComponent(batchId)}`);
  }

  listBatches(filter: Page & { open?: boolean } = {}): Promise<BatchDto[]> {
    return this.#transport.json('GET', '/v1/batches', { query: { ...filter } });
  }

  getBatch(id: string): Promise<BatchDetailDto> {
    return this.#transport.json('GET', batchPath(id));
  }

  /** Cancels all its tasks that have not ended; returns how many. */
  async cancelBatch(id: string): Promise<number> {
    return (await this.#transport.json<{ canceled: number }>('DELETE', batchPath(id))).canceled;
  }

  /**
   * Follows a batch: all its tasks first, then those that change, until `end`. A broken stream is opened again where it
   * stopped (with the `sleep` option); a task may be told twice, none is left out.
   */
  async *watchBatch(id: string, signal?: AbortSignal): AsyncGenerator<BatchEvent> {
    let cursor: string | undefined;
    let failures = 0;
    while (!isAborted(signal)) {
      try {
        const headers = { accept: 'text/event-stream', 'last-event-id': cursor };
        const response = await this.#transport.send('GET', `${batchPath(id)}/events`, {
          headers,
          ...(signal === undefined ? {} : { signal }),
        });
        if (response.body === null) throw await errorOf(response);
        for await (const event of readEvents(response.body as ReadableStream<Uint8Array>)) {
          failures = 0;
          if (event.id !== null) cursor = event.id;
          const type = event.name === 'end' ? 'end' : 'change';
          yield { type, ...(JSON.parse(event.data) as BatchChangeDto) };
          if (type === 'end') return;
        }
      } catch (error) {
        if (isAborted(signal)) return;
        if (isFinal(error) || this.#sleep === undefined) throw error;
      }
      if (this.#sleep === undefined) return;
      failures += 1;
      await this.#sleep(Math.min(RECONNECT_MS * 2 ** (failures - 1), RECONNECT_MAX_MS), signal);
    }
  }

  listWebhooks(filter: Page & { state?: DeliveryDto['state']; task_id?: string } = {}): Promise<DeliveryDto[]> {
    return this.#transport.json('GET', '/v1/webhooks', { query: { ...filter } });
  }

  async replayWebhook(id: string): Promise<void> {
    await this.#transport.send('POST', `/v1/webhooks/${encodeURIComponent(id)}/replay`);
  }

  listRules(): Promise<RuleDefinitionDto[]> {
    return this.#transport.json('GET', '/v1/rules');
  }

  getRule(name: string): Promise<RuleDefinitionDto> {
    return this.#transport.json('GET', `/v1/rules/${encodeURIComponent(name)}`);
  }

  putRule(name: string, rule: RuleDto): Promise<RuleDefinitionDto> {
    return this.#transport.json('PUT', `/v1/rules/${encodeURIComponent(name)}`, { body: rule });
  }

  async removeRule(name: string): Promise<void> {
    await this.#transport.send('DELETE', `/v1/rules/${encodeURIComponent(name)}`);
  }

  listActions(): Promise<ActionDefinitionDto[]> {
    return this.#transport.json('GET', '/v1/actions');
  }

  getAction(name: string): Promise<ActionDefinitionDto> {
    return this.#transport.json('GET', `/v1/actions/${encodeURIComponent(name)}`);
  }

  putAction(name: string, action: NewActionDto): Promise<ActionDefinitionDto> {
    return this.#transport.json('PUT', `/v1/actions/${encodeURIComponent(name)}`, { body: action });
  }

  async removeAction(name: string): Promise<void> {
    await this.#transport.send('DELETE', `/v1/actions/${encodeURIComponent(name)}`);
  }

  /** Answers in sickness, too: look at `status`. */
  async health(): Promise<HealthDto> {
    try {
      return await this.#transport.json<HealthDto>('GET', '/health');
    } catch (error) {
      if (error instanceof HeddleApiError && error.status === 503 && error.answer !== null)
        return error.answer as HealthDto;
      throw error;
    }
  }

  ready(): Promise<ReadyDto> {
    return this.#transport.json('GET', '/ready');
  }

  async metrics(): Promise<string> {
    return (await this.#transport.send('GET', '/metrics')).text();
  }

  openapi(): Promise<Record<string, unknown>> {
    return this.#transport.json('GET', '/v1/openapi.json');
  }
}

function taskPath(id: string): string {
  return `/task/${encodeURIComponent(id)}`;
}

function batchPath(id: string): string {
  return `/v1/batches/${encodeURIComponent(id)}`;
}

/** A refusal that will be the same the next time. */
function isFinal(error: unknown): boolean {
  return error instanceof HeddleApiError && error.status < 500 && error.status !== 429;
}

/** A function, since the signal changes while others run. */
function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted ?? false;
}
