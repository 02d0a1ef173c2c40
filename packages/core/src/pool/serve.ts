import type { PoolContext } from './context.ts';
import { Handovers } from './handovers.ts';
import type { Served } from './port/backend.ts';
import type { RunnerRequest } from './port/store.ts';
import { waitingPages } from './waiting-pages.ts';

const PAGE = 500;
const PAGES_MAX = 20;
/** Time until an exhausted shape is tried again; meanwhile the store grants the runners that arrive. */
const RETRY_MS = 2_000;

/** Finds idle runners for requests that wait. */
export class Server {
  readonly #context: PoolContext;
  readonly #onExhausted: () => void;
  readonly #handovers: Handovers;
  /** Shapes that found no idle runner, with the time of the next try. */
  #retryAt = new Map<number, number>();

  /** @param onExhausted called when no idle runner can serve some of the requests */
  constructor(context: PoolContext, onExhausted: () => void = () => undefined) {
    this.#context = context;
    this.#onExhausted = onExhausted;
    this.#handovers = new Handovers(context);
  }

  async runOnce(signal?: AbortSignal): Promise<'idle'> {
    const now = this.#context.clock.now();
    // Drops shapes that are no longer requested.
    this.#retryAt = new Map([...this.#retryAt].filter(([, at]) => at > now));
    const { followed } = this.#handovers;
    const waiting = new Set<string>();
    for await (const page of waitingPages(this.#context.store, PAGE, PAGES_MAX)) {
      if (signal?.aborted === true) return 'idle';
      for (const { id } of page) waiting.add(id);
      const due = page.filter((request) => this.#isDue(request));
      if (due.length > 0) await this.serve(due);
    }
    if (waiting.size < PAGE * PAGES_MAX) await this.#handovers.measure(followed, waiting);
    return 'idle';
  }

  #isDue({ exhaustion, shape_id }: RunnerRequest): boolean {
    if (exhaustion === null || exhaustion === 'uncertain') return true;
    return !this.#retryAt.has(shape_id);
  }

  /** Serves these requests now, even if their shapes were tried recently. */
  async serve(requests: readonly RunnerRequest[]): Promise<void> {
    const { backend, store } = this.#context;
    const served = await backend.serve(requests);
    const known = new Map(requests.map((request) => [request.id, request]));
    const noted: { request_id: string; exhaustion: NonNullable<Served['exhaustion']> }[] = [];
    let exhausted = false;
    for (const { request_id, grant, exhaustion } of served) {
      const request = known.get(request_id);
      if (request === undefined) continue;
      if (grant !== null) {
        this.#count(request);
        this.#handovers.unfollow(request_id);
      } else if (exhaustion !== null) {
        exhausted ||= exhaustion !== 'uncertain';
        if (exhaustion !== request.exhaustion) noted.push({ request_id, exhaustion });
        if (request.exhaustion === null) this.#handovers.follow(request_id);
        if (exhaustion !== 'uncertain') this.#postpone(request);
      }
    }
    if (noted.length > 0) await store.noteExhausted(noted);
    this.#countExhausted(noted);
    if (exhausted) this.#onExhausted();
  }

  #postpone({ shape_id }: RunnerRequest): void {
    this.#retryAt.set(shape_id, this.#context.clock.now() + RETRY_MS);
  }

  #count({ resource_class, created_at }: RunnerRequest): void {
    const seconds = Math.max(0, this.#context.clock.now() - created_at) / 1_000;
    this.#context.metrics?.pickup(resource_class, 'idle', seconds);
  }

  #countExhausted(noted: readonly { exhaustion: NonNullable<Served['exhaustion']> }[]): void {
    for (const [type, ones] of Map.groupBy(noted, ({ exhaustion }) => exhaustion)) {
      this.#context.metrics?.exhausted(type, ones.length);
    }
  }
}
