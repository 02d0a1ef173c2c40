import type {
  CensusDto,
  HoldDto,
  PoolDto,
  PoolRequestDetailDto,
  PoolRequestDto,
  ProvisionDto,
  ProvisionedDto,
  RefreshedDto,
  ResourceClassDto,
  RunnerDto,
  SampleDto,
} from './wire-types.ts';
import type { Transport } from './transport.ts';

interface Page {
  page?: number;
  page_size?: number;
}

export interface RunnerListFilter extends Page {
  /** Runners that have not terminated, by default. */
  state?: RunnerDto['state'];
  resource_class?: string;
}

export interface RequestListFilter extends Page {
  /** Waiting requests, by default. */
  state?: 'waiting' | 'granted';
}

/** The pool of runners: its state, its requests, and how to change it. */
export class PoolClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Returns runners by class and usage, and the settings. */
  get(): Promise<PoolDto> {
    return this.#transport.json('GET', '/v1/pool');
  }

  async census(): Promise<CensusDto[]> {
    return (await this.get()).census;
  }

  classes(): Promise<ResourceClassDto[]> {
    return this.#transport.json('GET', '/v1/pool/classes');
  }

  /** Returns the number of runners minute by minute, oldest first. */
  history(filter: { hours?: number; resource_class?: string } = {}): Promise<SampleDto[]> {
    return this.#transport.json('GET', '/v1/pool/history', { query: { ...filter } });
  }

  runners(filter: RunnerListFilter = {}): Promise<RunnerDto[]> {
    return this.#transport.json('GET', '/v1/pool/runners', { query: { ...filter } });
  }

  runner(id: string): Promise<RunnerDto> {
    return this.#transport.json('GET', runnerPath(id));
  }

  /** Releases it from its claim: it goes to a waiting request, or becomes idle. */
  release(id: string): Promise<RunnerDto> {
    return this.#transport.json('POST', `${runnerPath(id)}/release`);
  }

  /** Terminates it once it is free; at once if it is. */
  drain(id: string): Promise<RunnerDto> {
    return this.#transport.json('POST', `${runnerPath(id)}/drain`);
  }

  /** Terminates it now; the request that it was claimed for waits again. */
  terminate(id: string): Promise<RunnerDto> {
    return this.#transport.json('POST', `${runnerPath(id)}/terminate`);
  }

  requests(filter: RequestListFilter = {}): Promise<PoolRequestDto[]> {
    return this.#transport.json('GET', '/v1/pool/requests', { query: { ...filter } });
  }

  request(id: string): Promise<PoolRequestDetailDto> {
    return this.#transport.json('GET', requestPath(id));
  }

  /** Requests runners; a repeat with the same id has no further effect and returns the state of the first. */
  hold(request: HoldDto, signal?: AbortSignal): Promise<PoolRequestDetailDto> {
    const options = { body: request, ...(signal === undefined ? {} : { signal }) };
    return this.#transport.json('POST', '/v1/pool/requests', options);
  }

  /** Ends a request and releases its runners. */
  letGo(id: string): Promise<PoolRequestDetailDto> {
    return this.#transport.json('DELETE', requestPath(id));
  }

  /** Launches runners ahead of demand; a repeat with the same id launches nothing more. */
  provision(request: ProvisionDto): Promise<ProvisionedDto> {
    return this.#transport.json('POST', '/v1/pool/provision', { body: request });
  }

  /** Refreshes launches, terminates expired runners, and offers idle runners to the backend again. */
  refresh(): Promise<RefreshedDto> {
    return this.#transport.json('POST', '/v1/pool/refresh');
  }
}

function runnerPath(id: string): string {
  return `/v1/pool/runners/${encodeURIComponent(id)}`;
}

function requestPath(id: string): string {
  return `/v1/pool/requests/${encodeURIComponent(id)}`;
}
