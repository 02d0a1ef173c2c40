import type { PoolContext } from './context.ts';
import type { RequestWithRunners } from './port/store.ts';

/** Limits of requests that are followed at a time, and of requests in one query. */
const FOLLOWED_MAX = 10_000;
const SETTLED_MAX = 1_000;

/**
 * Measures the wait of requests that no idle runner could serve. The store grants them runners as those arrive, without
 * notifying this process. Only the process that first saw a request follows it, so each request is counted once.
 */
export class Handovers {
  readonly #context: PoolContext;
  readonly #followed = new Set<string>();

  constructor(context: PoolContext) {
    this.#context = context;
  }

  follow(requestId: string): void {
    if (this.#context.metrics !== undefined && this.#followed.size < FOLLOWED_MAX) this.#followed.add(requestId);
  }

  unfollow(requestId: string): void {
    this.#followed.delete(requestId);
  }

  get followed(): readonly string[] {
    return [...this.#followed];
  }

  /**
   * @param followed requests that were followed before the waiting ones were read
   * @param waiting all waiting requests
   */
  async measure(followed: readonly string[], waiting: ReadonlySet<string>): Promise<void> {
    const settled = new Set(followed.filter((id) => this.#followed.has(id) && !waiting.has(id)));
    if (settled.size === 0) return;
    const ids = [...settled].slice(0, SETTLED_MAX);
    for (const request of await this.#context.store.requests(ids))
      if (request.state === 'granted') this.#count(request);
    // Requests that were not granted were withdrawn or have already ended.
    for (const id of ids) this.#followed.delete(id);
  }

  #count({ resource_class, created_at, granted_at, runners }: RequestWithRunners): void {
    const waitedMs = Math.max(0, (granted_at ?? created_at) - created_at);
    // A runner created since the request, on its first claim, was launched; any other runner existed but was not found.
    const isLaunched = runners.some((runner) => runner.epoch === 1 && runner.created_at >= created_at);
    this.#context.metrics?.pickup(resource_class, isLaunched ? 'launch' : 'idle', waitedMs / 1_000);
  }
}
