import type { PoolContext } from './context.ts';
import { within } from './deadline.ts';
import type { ProviderInstance } from './port/provider.ts';

const LEAVING_MAX = 1_000;
/** Maximum number of instances in one call. */
const CHUNK = 100;
/** Time after which termination of an instance that still runs is requested again. */
const TERMINATE_AGAIN_MS = 60_000;
const CALL_MS = 90_000;
const LISTING_MS = 300_000;

/** An ended runner whose instance may still run. */
interface Terminating {
  readonly runner_id: string;
  /** When termination was requested, milliseconds since the epoch; null: not yet. */
  requestedAt: number | null;
  /** Time of the first listing since which it has been absent; null: the last listing included it. */
  absentSince: number | null;
}

export interface Reaped {
  readonly orphans: number;
  readonly vanished: number;
  /** Instances of ended runners that no longer exist. */
  readonly gone: number;
}

/**
 * Reconciles the store with the provider: terminates the instances of ended runners, and orphaned instances. A failed
 * listing changes nothing.
 */
export class Reaper {
  readonly #context: PoolContext;
  /** By instance ID; kept in memory, so a new process requests termination again. */
  readonly #terminating = new Map<string, Terminating>();

  constructor(context: PoolContext) {
    this.#context = context;
  }

  /** Asks the provider to terminate the instances of ended runners; returns how many requests were sent. */
  async terminateLeaving(): Promise<number> {
    const { store, provider, clock } = this.#context;
    const left = await store.leaving(provider.name, LEAVING_MAX);
    this.#follow(left);
    const now = clock.now();
    const due = left.filter(({ provider_id }) => {
      const requestedAt = this.#terminating.get(provider_id)?.requestedAt ?? null;
      return requestedAt === null || now - requestedAt >= TERMINATE_AGAIN_MS;
    });
    return this.#terminate(due.map(({ provider_id }) => provider_id));
  }

  /** Compares a complete listing of the provider with the store. */
  async reconcile(): Promise<Reaped> {
    const { store, provider, clock, metrics, log } = this.#context;
    // A runner that ends after this point may be absent from the listing although its instance still exists.
    this.#follow(await store.leaving(provider.name, LEAVING_MAX));
    const listed = await within(clock, LISTING_MS, `the provider ${provider.name}`, this.#list());
    const { orphans, vanished } = await store.reconcile(provider.name, listed);
    if (vanished > 0) {
      metrics?.reaped('vanished', vanished);
      log.warn({ provider: provider.name, vanished }, 'runners ended: the provider no longer runs them');
    }
    if (orphans.length > 0) {
      metrics?.reaped('orphan', orphans.length);
      log.warn({ provider: provider.name, orphans }, 'terminating instances that belong to no runner');
      await this.#terminate(orphans);
    }
    return { orphans: orphans.length, vanished, gone: await this.#markGone(listed) };
  }

  /** Updates the set of instances that are followed until they are gone. */
  #follow(left: readonly { id: string; provider_id: string }[]): void {
    const known = new Map(this.#terminating);
    this.#terminating.clear();
    for (const { id, provider_id } of left) {
      this.#terminating.set(
        provider_id,
        known.get(provider_id) ?? { runner_id: id, requestedAt: null, absentSince: null },
      );
    }
  }

  async #terminate(providerIds: readonly string[]): Promise<number> {
    const { provider, clock } = this.#context;
    const failures: unknown[] = [];
    let requested = 0;
    for (let at = 0; at < providerIds.length; at += CHUNK) {
      const chunk = providerIds.slice(at, at + CHUNK);
      try {
        await within(clock, CALL_MS, `the provider ${provider.name}`, provider.terminate(chunk));
        requested += chunk.length;
        for (const id of chunk) {
          const terminating = this.#terminating.get(id);
          if (terminating !== undefined) terminating.requestedAt = clock.now();
        }
      } catch (error) {
        // A failed chunk must not affect the others.
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
    return requested;
  }

  async #list(): Promise<ProviderInstance[]> {
    const listed: ProviderInstance[] = [];
    for await (const page of this.#context.provider.list()) listed.push(...page);
    return listed;
  }

  /**
   * Marks instances as gone if the provider reports them gone, or if termination was requested and listings at least
   * `recheck_ms` apart do not include them, since a listing may be older than a launch.
   */
  async #markGone(listed: readonly ProviderInstance[]): Promise<number> {
    const { store, clock, policy } = this.#context;
    const now = clock.now();
    const states = new Map(listed.map(({ provider_id, state }) => [provider_id, state]));
    const gone: string[] = [];
    for (const [providerId, terminating] of this.#terminating) {
      const state = states.get(providerId);
      if (state !== undefined && state !== 'gone') terminating.absentSince = null;
      else if (state === 'gone') gone.push(terminating.runner_id);
      else {
        terminating.absentSince ??= now;
        const isSure = terminating.requestedAt !== null && now - terminating.absentSince >= policy.times.recheck_ms;
        if (isSure) gone.push(terminating.runner_id);
      }
    }
    if (gone.length > 0) await store.gone(gone);
    return gone.length;
  }
}
