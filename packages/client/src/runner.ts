import type {
  AnsweredOrdersDto,
  AwaitOrdersDto,
  ClaimedWorkDto,
  ClaimRunnerTaskDto,
  OrdersChangedDto,
  OrdersDto,
  RegisteredRunnerDto,
  RegisterRunnerDto,
  RunnerSignalDto,
  WorkDto,
} from './wire-types.ts';
import type { Transport } from './transport.ts';

/** The calls of a runner of the pool. All but `register` need the credential that it returns. */
export class RunnerClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Registers a runner that a provider has started; needs a token of the scope `runner`. */
  register(registration: RegisterRunnerDto): Promise<RegisteredRunnerDto> {
    return this.#say('register', registration);
  }

  /** Returns its orders; null if it is to end. */
  async heartbeat(): Promise<OrdersDto | null> {
    return (await this.#say<AnsweredOrdersDto>('heartbeat')).orders;
  }

  /** Returns its orders as soon as they differ from the given ones. */
  wait(known: AwaitOrdersDto, signal?: AbortSignal): Promise<OrdersChangedDto> {
    return this.#say('wait', known, signal);
  }

  /** Returns false if the claim is outdated. */
  async confirm(epoch: number): Promise<boolean> {
    return (await this.#say<RunnerSignalDto>('confirm', { epoch })).applied;
  }

  /** Reports that the work of a claim is done; returns false if the claim is outdated. */
  async release(epoch: number): Promise<boolean> {
    return (await this.#say<RunnerSignalDto>('release', { epoch })).applied;
  }

  /** Reports that it takes no more tasks. */
  async drain(reason: string): Promise<void> {
    await this.#say('drain', { reason });
  }

  /** Claims its task; returns none if there is none. */
  async claim(request: ClaimRunnerTaskDto): Promise<WorkDto[]> {
    return (await this.#say<ClaimedWorkDto>('claim', request)).tasks;
  }

  #say<Answer>(verb: string, body?: object, signal?: AbortSignal): Promise<Answer> {
    return this.#transport.json<Answer>('POST', `/v1/pool/agent/${verb}`, {
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    });
  }
}
