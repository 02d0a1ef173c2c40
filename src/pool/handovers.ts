import type { PoolContext } from './context.ts';
import type { RequestWithRunners } from './port/store.ts';

/** Requests that are followed at once, and those that are looked up at once. */
const FOLLOWED_MAX = 10_000;
const SETTLED_MAX = 1_000;

/**
 * Measures how long requests waited that no idle runner could serve: the store hands them what arrives, and nobody tells
 * this process. Each is followed by the process that first noted it, so that it is counted once.
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
   * @param followed those that were followed before it was asked who waits
   * @param waiting all that wait
   */
  async measure(followed: readonly string[], waiting: ReadonlySet<string>): Promise<void> {
    const over = new Set(followed.filter((id) => this.#followed.has(id) && !waiting.has(id)));
    if (over.size === 0) return;
    const ids = [...over].slice(0, SETTLED_MAX);
    for (const request of await this.#context.store.requests(ids))
      if (request.state === 'granted') this.#count(request);
    // What was not granted was withdrawn, or has ended already.
    for (const id of ids) this.#followed.delete(id);
  }

  #count({ resource_class, created_at, granted_at, runners }: RequestWithRunners): void {
    const waitedMs = Math.max(0, (granted_at ?? created_at) - created_at);
    // The first claim of a runner that came since; any other one was there, and busy or not found at first.
    const isLaunched = runners.some((runner) => runner.epoch === 1 && runner.created_at >= created_at);
    this.#context.metrics?.pickup(resource_class, isLaunched ? 'launch' : 'idle', waitedMs / 1_000);
  }
}
