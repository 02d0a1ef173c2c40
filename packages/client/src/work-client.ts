import type {
  ArtifactDto,
  ClaimWorkDto,
  ClaimedWorkDto,
  CompleteWorkDto,
  CreateChildrenDto,
  CreatedChildrenDto,
  FailWorkDto,
  FoundArtifactDto,
  NewUploadDto,
  TaskResultDto,
  UploadDto,
  WorkDto,
  WorkHeartbeatDto,
  WorkLogsDto,
  WorkOutcomeDto,
  WorkResultsDto,
  WorkSecretsDto,
} from './wire-types.ts';
import type { Transport } from './transport.ts';

/** A claimed task as its worker's calls need it; `holder` if the claim named one. */
export type ClaimedWork = Pick<WorkDto, 'id' | 'attempt' | 'holder'>;

/**
 * The calls of a worker that pulls its tasks. A HeddleApiError of status 404 or 409 means: stop working on the task.
 */
export class WorkClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Claims tasks to run; returns none if nothing became ready within `wait_secs`. */
  async claim(request: ClaimWorkDto, signal?: AbortSignal): Promise<WorkDto[]> {
    const options = { body: request, ...(signal === undefined ? {} : { signal }) };
    return (await this.#transport.json<ClaimedWorkDto>('POST', '/v1/work/claim', options)).tasks;
  }

  /** Reports that the worker stops, so that it is not shown as lost. */
  async leave(holder?: string): Promise<void> {
    await this.#transport.send('POST', '/v1/work/leave', { body: holder === undefined ? {} : { holder } });
  }

  /** Extends the lease of the task. */
  async heartbeat(task: ClaimedWork, counts: Omit<WorkHeartbeatDto, 'attempt' | 'holder'> = {}): Promise<void> {
    await this.#say(task, 'heartbeat', counts);
  }

  complete(task: ClaimedWork, completion: Omit<CompleteWorkDto, 'attempt' | 'holder'> = {}): Promise<WorkOutcomeDto> {
    return this.#say(task, 'complete', completion);
  }

  /** Adds lines to the task's log; `first_line` is the number of lines sent before, so that a repeat has no effect. */
  async log(task: ClaimedWork, logs: Omit<WorkLogsDto, 'attempt' | 'holder'>): Promise<void> {
    await this.#say(task, 'logs', logs);
  }

  /** Stores a file of the task; replaces the one of the same name and attempt. */
  putArtifact(
    { id, attempt, holder }: ClaimedWork,
    name: string,
    content: ReadableStream<Uint8Array>,
  ): Promise<ArtifactDto> {
    return this.#transport.json('PUT', pathOf(id, 'artifacts'), { query: { name, attempt, holder }, content });
  }

  /** Returns where to send the content of an artifact with PUT; null: call `putArtifact` instead. */
  async upload(task: ClaimedWork, artifact: Omit<NewUploadDto, 'attempt' | 'holder'>): Promise<UploadDto['upload']> {
    return (await this.#say<UploadDto>(task, 'upload', artifact)).upload;
  }

  /** Stores an artifact whose content was sent there; replaces the one of the same name and attempt. */
  uploaded(task: ClaimedWork, artifact: Omit<NewUploadDto, 'attempt' | 'holder'>): Promise<ArtifactDto> {
    return this.#say(task, 'uploaded', artifact);
  }

  /**
   * Opens an artifact that the task refers to.
   * @param artifact its id, or `NODE/NAME`
   */
  async openArtifact(
    { id, holder }: Pick<ClaimedWork, 'id' | 'holder'>,
    artifact: string,
  ): Promise<{ artifact: ArtifactDto; content: ReadableStream<Uint8Array> }> {
    const query = { artifact, holder };
    const found = await this.#transport.json<FoundArtifactDto>('GET', pathOf(id, 'artifact'), { query });
    const { body } = await (found.direct ? this.#transport.open(found.url) : this.#openHere(found.url));
    return { artifact: found.artifact, content: body! };
  }

  /** Returns the values of the secrets that the input of the task names; needs a token that is limited to kinds. */
  async secrets(task: ClaimedWork): Promise<Record<string, string>> {
    return (await this.#say<WorkSecretsDto>(task, 'secrets', {})).secrets;
  }

  /** With `final` no retry policy applies. */
  fail(
    task: ClaimedWork,
    reason: FailWorkDto['reason'],
    options: Pick<FailWorkDto, 'final' | 'exit_code'> = {},
  ): Promise<WorkOutcomeDto> {
    return this.#say(task, 'fail', { reason, ...options });
  }

  /** Returns the task to its queue, so that another worker can claim it at once. */
  release(task: ClaimedWork): Promise<WorkOutcomeDto> {
    return this.#say(task, 'release', {});
  }

  /** Adds nodes to the workflow of a generator; the response has the outcome of each. */
  async createChildren(
    task: ClaimedWork,
    children: Omit<CreateChildrenDto, 'attempt' | 'holder'>,
  ): Promise<CreatedChildrenDto['nodes']> {
    return (await this.#say<CreatedChildrenDto>(task, 'children', children)).nodes;
  }

  /**
   * Yields the results of all that precedes the task in its container, page by page.
   * @param task the task, or its id if the claim named no `holder`
   */
  async *results(task: Pick<ClaimedWork, 'id' | 'holder'> | string, pageSize?: number): AsyncGenerator<TaskResultDto> {
    const { id, holder } = typeof task === 'string' ? { id: task, holder: undefined } : task;
    let after: string | undefined;
    do {
      const query = { after, limit: pageSize, holder };
      const page = await this.#transport.json<WorkResultsDto>('GET', pathOf(id, 'results'), { query });
      yield* page.results;
      after = page.next ?? undefined;
    } while (after !== undefined);
  }

  /** By the path of the URL: the server may have another address here than for others. */
  #openHere(url: string): Promise<Response> {
    const { pathname, search } = new URL(url);
    return this.#transport.send('GET', `${pathname}${search}`);
  }

  #say<Answer>({ id, attempt, holder }: ClaimedWork, verb: string, body: object): Promise<Answer> {
    return this.#transport.json<Answer>('POST', pathOf(id, verb), { body: { attempt, holder, ...body } });
  }
}

function pathOf(taskId: string, verb: string): string {
  return `/v1/work/${encodeURIComponent(taskId)}/${verb}`;
}
