import type { PoolContext } from './context.ts';
import { within } from './deadline.ts';
import type { ProviderInstance } from './port/provider.ts';

const LEAVING_MAX = 1_000;
/** Instances of one call. */
const CHUNK = 100;
/** A provider that was told to end an instance and still runs it is told again after this. */
const TELL_AGAIN_MS = 60_000;
const CALL_MS = 90_000;
const LISTING_MS = 300_000;

/** Of an ended runner whose instance may still run. */
interface Leaving {
  readonly runner_id: string;
  /** Milliseconds since the epoch; null: the provider was not told yet. */
  toldAt: number | null;
  /** The first of the listings, one after the other, that did not show it; null: the last one did. */
  absentSince: number | null;
}

export interface Reaped {
  readonly orphans: number;
  readonly vanished: number;
  /** Instances of ended runners that are not there any more. */
  readonly gone: number;
}

/**
 * Keeps store and provider in agreement: ends the instances of runners that ended, and what runs in vain. Nothing is
 * concluded from a listing that failed.
 */
export class Reaper {
  readonly #context: PoolContext;
  /** By the provider's name for them; lost with the process, after which they are told again. */
  readonly #leaving = new Map<string, Leaving>();

  constructor(context: PoolContext) {
    this.#context = context;
  }

  /** Tells the provider to end the instances of runners that ended; returns how many it was told. */
  async terminateLeaving(): Promise<number> {
    const { store, provider, clock } = this.#context;
    const left = await store.leaving(provider.name, LEAVING_MAX);
    this.#follow(left);
    const now = clock.now();
    const due = left.filter(({ provider_id }) => {
      const toldAt = this.#leaving.get(provider_id)?.toldAt ?? null;
      return toldAt === null || now - toldAt >= TELL_AGAIN_MS;
    });
    return this.#terminate(due.map(({ provider_id }) => provider_id));
  }

  /** Holds one whole listing of the provider against the store. */
  async reconcile(): Promise<Reaped> {
    const { store, provider, clock, metrics, log } = this.#context;
    // What ends after this moment may be missing in the listing for another reason than that it is gone.
    this.#follow(await store.leaving(provider.name, LEAVING_MAX));
    const listed = await within(clock, LISTING_MS, `the provider ${provider.name}`, this.#list());
    const { orphans, vanished } = await store.reconcile(provider.name, listed);
    if (vanished > 0) {
      metrics?.reaped('vanished', vanished);
      log.warn({ provider: provider.name, vanished }, 'Runners were ended, since their provider does not run them');
    }
    if (orphans.length > 0) {
      metrics?.reaped('orphan', orphans.length);
      log.warn({ provider: provider.name, orphans }, 'Instances that belong to no runner are ended');
      await this.#terminate(orphans);
    }
    return { orphans: orphans.length, vanished, gone: await this.#noteGone(listed) };
  }

  /** Forgets what is not leaving any more, and begins with what is new. */
  #follow(left: readonly { id: string; provider_id: string }[]): void {
    const known = new Map(this.#leaving);
    this.#leaving.clear();
    for (const { id, provider_id } of left) {
      this.#leaving.set(provider_id, known.get(provider_id) ?? { runner_id: id, toldAt: null, absentSince: null });
    }
  }

  async #terminate(providerIds: readonly string[]): Promise<number> {
    const { provider, clock } = this.#context;
    const failures: unknown[] = [];
    let told = 0;
    for (let at = 0; at < providerIds.length; at += CHUNK) {
      const chunk = providerIds.slice(at, at + CHUNK);
      try {
        await within(clock, CALL_MS, `the provider ${provider.name}`, provider.terminate(chunk));
        told += chunk.length;
        for (const id of chunk) {
          const leaving = this.#leaving.get(id);
          if (leaving !== undefined) leaving.toldAt = clock.now();
        }
      } catch (error) {
        // The others are none the worse for it.
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
    return told;
  }

  async #list(): Promise<ProviderInstance[]> {
    const listed: ProviderInstance[] = [];
    for await (const page of this.#context.provider.list()) listed.push(...page);
    return listed;
  }

  /**
   * Instances are gone that the provider says are, or that it was told to end and that are missing in listings at least
   * `doubt_ms` apart: a listing may be older than a launch.
   */
  async #noteGone(listed: readonly ProviderInstance[]): Promise<number> {
    const { store, clock, policy } = this.#context;
    const now = clock.now();
    const states = new Map(listed.map(({ provider_id, state }) => [provider_id, state]));
    const gone: string[] = [];
    for (const [providerId, leaving] of this.#leaving) {
      const state = states.get(providerId);
      if (state !== undefined && state !== 'gone') leaving.absentSince = null;
      else if (state === 'gone') gone.push(leaving.runner_id);
      else {
        leaving.absentSince ??= now;
        const isSure = leaving.toldAt !== null && now - leaving.absentSince >= policy.times.doubt_ms;
        if (isSure) gone.push(leaving.runner_id);
      }
    }
    if (gone.length > 0) await store.gone(gone);
    return gone.length;
  }
}
