import type {
  ActionDefinitionDto,
  BasicTaskDto,
  BatchChangeDto,
  BatchDetailDto,
  BatchDto,
  ChildrenDto,
  ContainerExplanationDto,
  DagDto,
  DeliveryDto,
  ExplanationDto,
  HealthDto,
  LogPageDto,
  NewActionDto,
  NewTaskDto,
  NewWorkflowDto,
  ProgressDto,
  ReadyDto,
  RuleDefinitionDto,
  RetryTaskDto,
  RuleDto,
  SubmittedWorkflowDto,
  TaskAttemptDto,
  TaskDto,
  TaskResultDto,
  UpdateTaskDto,
  WorkflowChangeDto,
  WorkflowDto,
  WorkflowTreeDto,
} from './wire-types.ts';
import { AccessClient } from './access.ts';
import { ArtifactsClient } from './artifacts.ts';
import { AuditClient } from './audit.ts';
import { HeddleApiError } from './error.ts';
import { ExecutorsClient } from './executors.ts';
import { FindingsClient } from './findings.ts';
import { ModelsClient } from './models.ts';
import { follow } from './follow.ts';
import { JobsClient } from './jobs.ts';
import { KindsClient } from './kinds.ts';
import { batchPath, taskPath, workflowPath } from './paths.ts';
import { PagesClient } from './pages.ts';
import { PoolClient } from './pool.ts';
import { OverviewClient } from './overview.ts';
import { QueuesClient } from './queues.ts';
import { RunsClient } from './runs.ts';
import { SecretsClient } from './secrets.ts';
import type {
  AttemptFilter,
  BatchEvent,
  LogEvent,
  LogFilter,
  Page,
  ResultFilter,
  SubmitOptions,
  Submitted,
  TaskListFilter,
  WorkflowEvent,
  WorkflowListFilter,
} from './requests.ts';
import { OperationsClient } from './operations.ts';
import { Transport, type ClientOptions } from './transport.ts';
import { warningsOf } from './warnings.ts';
import { RunnerClient } from './runner.ts';
import { WorkClient } from './work-client.ts';

export { HeddleApiError } from './error.ts';
export type * from './requests.ts';
export type { ClientOptions } from './transport.ts';
export type { RunnerClient } from './runner.ts';
export type { ClaimedWork, WorkClient } from './work-client.ts';

const RESULTS_PER_PAGE = 100;

/**
 * The typed API client. Throws HeddleApiError for error responses, and passes on what `fetch` throws if the server is
 * unreachable.
 */
export class HeddleClient {
  readonly access: AccessClient;
  readonly artifacts: ArtifactsClient;
  readonly audit: AuditClient;
  readonly executors: ExecutorsClient;
  readonly findings: FindingsClient;
  readonly jobs: JobsClient;
  readonly kinds: KindsClient;
  readonly models: ModelsClient;
  readonly overview: OverviewClient;
  readonly pages: PagesClient;
  readonly pool: PoolClient;
  readonly queues: QueuesClient;
  readonly runs: RunsClient;
  readonly operations: OperationsClient;
  readonly secrets: SecretsClient;
  /** For the agents of runners. */
  readonly runner: RunnerClient;
  readonly work: WorkClient;
  readonly #transport: Transport;
  readonly #sleep: ClientOptions['sleep'];

  constructor(options: ClientOptions) {
    this.#transport = new Transport(options);
    this.runner = new RunnerClient(this.#transport);
    this.work = new WorkClient(this.#transport);
    this.access = new AccessClient(this.#transport);
    this.artifacts = new ArtifactsClient(this.#transport);
    this.audit = new AuditClient(this.#transport);
    this.executors = new ExecutorsClient(this.#transport);
    this.findings = new FindingsClient(this.#transport);
    this.jobs = new JobsClient(this.#transport);
    this.kinds = new KindsClient(this.#transport);
    this.models = new ModelsClient(this.#transport);
    this.overview = new OverviewClient(this.#transport);
    this.pages = new PagesClient(this.#transport);
    this.pool = new PoolClient(this.#transport);
    this.runs = new RunsClient(this.#transport);
    this.operations = new OperationsClient(this.#transport);
    this.secrets = new SecretsClient(this.#transport);
    this.queues = new QueuesClient(this.#transport);
    this.#sleep = options.sleep;
  }

  async submit(tasks: readonly NewTaskDto[], options: SubmitOptions = {}): Promise<Submitted<TaskDto>> {
    return this.#submit<TaskDto>(tasks, options, undefined);
  }

  /** Returns ids only. */
  async submitMinimal(tasks: readonly NewTaskDto[], options: SubmitOptions = {}): Promise<Submitted<{ id: string }>> {
    return this.#submit<{ id: string }>(tasks, options, 'return=minimal');
  }

  async #submit<Task>(
    tasks: readonly NewTaskDto[],
    options: SubmitOptions,
    prefer: string | undefined,
  ): Promise<Submitted<Task>> {
    const headers = { prefer, 'idempotency-key': options.idempotencyKey, traceparent: options.traceparent };
    const response = await this.#transport.send('POST', '/task', {
      body: tasks,
      headers,
      query: { batch_name: options.batchName },
    });
    const batchId = response.headers.get('x-batch-id');
    const warnings = warningsOf(response);
    return { batchId, tasks: response.status === 204 ? [] : ((await response.json()) as Task[]), warnings };
  }

  getTask(id: string): Promise<TaskDto> {
    return this.#transport.json('GET', taskPath(id));
  }

  async listTasks(filter: TaskListFilter = {}): Promise<BasicTaskDto[]> {
    return (await this.pages.tasks(filter)).items;
  }

  updateTask(id: string, update: UpdateTaskDto): Promise<TaskDto> {
    return this.#transport.json('PATCH', taskPath(id), { body: update });
  }

  /** Ends a task; `reason` is required for a failure. */
  finishTask(id: string, status: 'Success' | 'Failure', reason?: string): Promise<TaskDto> {
    return this.updateTask(id, { status, ...(reason === undefined ? {} : { failure_reason: reason }) });
  }

  /** Resolves once the counts are durable. */
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

  retryTask(id: string, options: RetryTaskDto = {}): Promise<TaskDto> {
    return this.#transport.json('POST', `/v1/tasks/${encodeURIComponent(id)}/retry`, { body: options });
  }

  /** Releases the slots of a canceled task whose target has not reported that it stopped. */
  releaseTask(id: string): Promise<TaskDto> {
    return this.#transport.json('POST', `/v1/tasks/${encodeURIComponent(id)}/release`);
  }

  /** Returns a page of its attempts, newest first. */
  taskAttempts(id: string, filter: AttemptFilter = {}): Promise<TaskAttemptDto[]> {
    return this.#transport.json('GET', `/v1/tasks/${encodeURIComponent(id)}/attempts`, { query: { ...filter } });
  }

  /** Returns a page of what an attempt of the task logged, by default of the one that logged last. */
  taskLogs(id: string, filter: LogFilter = {}): Promise<LogPageDto> {
    return this.#transport.json('GET', `/v1/tasks/${encodeURIComponent(id)}/logs`, { query: { ...filter } });
  }

  /** Yields what the task logs until it has ended, from its current attempt on. Resumes if `sleep` is given. */
  followTaskLogs(
    id: string,
    { tail, attempt }: Pick<LogFilter, 'tail' | 'attempt'> = {},
    signal?: AbortSignal,
  ): AsyncGenerator<LogEvent> {
    const query = new URLSearchParams();
    if (tail !== undefined) query.set('tail', String(tail));
    if (attempt !== undefined) query.set('attempt', String(attempt));
    const path = `/v1/tasks/${encodeURIComponent(id)}/logs/events`;
    return follow<LogPageDto>(
      this.#transport,
      query.size === 0 ? path : `${path}?${query.toString()}`,
      this.#sleep,
      signal,
    );
  }

  taskResult(id: string): Promise<TaskResultDto | null> {
    return this.#transport.json('GET', `/v1/tasks/${encodeURIComponent(id)}/result`);
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

  /** Cancels all its unfinished tasks; returns their number. */
  async cancelBatch(id: string): Promise<number> {
    return (await this.#transport.json<{ canceled: number }>('DELETE', batchPath(id))).canceled;
  }

  /**
   * Follows a batch: first all its tasks, then changed ones, until `end`. Resumes a broken stream where it stopped
   * (with the `sleep` option); a task may be reported twice, but none is missed.
   */
  async *watchBatch(id: string, signal?: AbortSignal): AsyncGenerator<BatchEvent> {
    yield* follow<BatchChangeDto>(this.#transport, `${batchPath(id)}/events`, this.#sleep, signal);
  }

  /** Stores a tree and starts it; a repeat with the same UUID as the root's id changes nothing. */
  submitWorkflow(
    workflow: NewWorkflowDto,
    options: Pick<SubmitOptions, 'idempotencyKey' | 'traceparent'> = {},
  ): Promise<SubmittedWorkflowDto> {
    const headers = { 'idempotency-key': options.idempotencyKey, traceparent: options.traceparent };
    return this.#transport.json('POST', '/v1/workflows', { body: workflow, headers });
  }

  listWorkflows(filter: WorkflowListFilter = {}): Promise<WorkflowDto[]> {
    return this.#transport.json('GET', '/v1/workflows', { query: { ...filter } });
  }

  /** Returns the workflow with its tree: at most 10,000 nodes; containers have the number of omitted children. */
  getWorkflow(id: string, part: { depth?: number; tasks?: boolean } = {}): Promise<WorkflowTreeDto> {
    return this.#transport.json('GET', workflowPath(id), { query: { ...part } });
  }

  /** Returns one page of a container's children, by position: all, or those in one state. */
  listChildren(
    id: string,
    containerId: string,
    page: Page & { state?: WorkflowDto['state'] } = {},
  ): Promise<ChildrenDto> {
    const path = `${workflowPath(id)}/containers/${encodeURIComponent(containerId)}/children`;
    return this.#transport.json('GET', path, { query: { ...page } });
  }

  /** Explains why a container has not started or has not ended; the root has the id of the workflow. */
  explainContainer(id: string, containerId: string): Promise<ContainerExplanationDto> {
    return this.#transport.json('GET', `${workflowPath(id)}/containers/${encodeURIComponent(containerId)}/explain`);
  }

  /** Yields the results of its tasks, page by page. */
  async *workflowResults(id: string, filter: ResultFilter = {}): AsyncGenerator<TaskResultDto> {
    let { after } = filter;
    const { page_size = RESULTS_PER_PAGE } = filter;
    for (;;) {
      const query = { ...filter, page_size, after };
      const page = await this.#transport.json<TaskResultDto[]>('GET', `${workflowPath(id)}/results`, { query });
      yield* page;
      if (page.length < page_size) return;
      after = page.at(-1)!.task_id;
    }
  }

  /** Cancels all its unfinished tasks; returns their number. */
  async cancelWorkflow(id: string): Promise<number> {
    return (await this.#workflowCall<{ canceled: number }>(id, 'cancel')).canceled;
  }

  /** Pauses it until it is resumed; returns the number of paused tasks. */
  async pauseWorkflow(id: string): Promise<number> {
    return (await this.#workflowCall<{ paused: number }>(id, 'pause')).paused;
  }

  async resumeWorkflow(id: string): Promise<number> {
    return (await this.#workflowCall<{ resumed: number }>(id, 'resume')).resumed;
  }

  /** Retries what failed, timed out or was canceled and what comes after it; returns the number of tasks. */
  async retryWorkflow(id: string): Promise<number> {
    return (await this.#workflowCall<{ retried: number }>(id, 'retry')).retried;
  }

  #workflowCall<Answer>(id: string, verb: string): Promise<Answer> {
    return this.#transport.json('POST', `${workflowPath(id)}/${verb}`);
  }

  /** Follows a workflow like `watchBatch` a batch: first all its nodes, then changed ones, until `end`. */
  async *watchWorkflow(id: string, signal?: AbortSignal): AsyncGenerator<WorkflowEvent> {
    yield* follow<WorkflowChangeDto>(this.#transport, `${workflowPath(id)}/events`, this.#sleep, signal);
  }

  listWebhooks(
    filter: Page & { state?: DeliveryDto['state']; task_id?: string; origin?: string; after?: string } = {},
  ): Promise<DeliveryDto[]> {
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

  /** Responds even if the server is unhealthy: check `status`. */
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
