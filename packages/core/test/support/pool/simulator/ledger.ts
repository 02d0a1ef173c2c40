import type { Runner } from '../../../../src/domain/runner/runner.ts';
import type { Grant, Orders, PoolTimes, RunnerStore } from '../../../../src/pool/port/store.ts';
import type { Chronicle } from './chronicle.ts';

export interface LedgerOptions {
  readonly store: RunnerStore;
  readonly times: PoolTimes;
  readonly chronicle: Chronicle;
  readonly now: () => number;
  /** Whether an instance is running, regardless of listings. */
  runs(providerId: string): boolean;
}

/** Records grants and rejects violations: one runner for two requests, the end of a live runner. */
export class Ledger {
  readonly #options: LedgerOptions;
  /** By runner and epoch: the request that holds it. */
  readonly #holds = new Map<string, string>();
  readonly #epochs = new Map<string, number>();
  /** Time of the last heartbeat of each runner. */
  readonly #heartbeats = new Map<string, number>();

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  /** Wraps the store to check every answer. */
  get store(): RunnerStore {
    const { store } = this.#options;
    const watched: Partial<RunnerStore> = {
      register: async (registration) => this.#listen(await store.register(registration)),
      heartbeat: async (id) => this.#listen(await store.heartbeat(id)),
      confirm: (id, epoch) => this.#signal(id, epoch, () => store.confirm(id, epoch)),
      release: (id, epoch) => this.#signal(id, epoch, () => store.release(id, epoch)),
      claimIdle: async (limit, ids) => this.#grants(await store.claimIdle(limit, ids)),
      claim: async (id, runners) => {
        const claimed = await store.claim(id, runners);
        this.#grants(claimed.grant === null ? [] : [claimed.grant]);
        return claimed;
      },
      sweep: (limit, keep) => this.#ending(() => store.sweep(limit, keep)),
      reconcile: (provider, listed) => this.#ending(() => store.reconcile(provider, listed)),
    };
    return new Proxy(store, {
      get: (_, key): unknown => {
        const value: unknown = Reflect.get(watched, key) ?? Reflect.get(store, key, store);
        return typeof value === 'function' ? (value.bind(store) as unknown) : value;
      },
    });
  }

  #listen(orders: Orders | null): Orders | null {
    if (orders === null) return null;
    const { runner_id, epoch, request_id } = orders;
    this.#heartbeats.set(runner_id, this.#options.now());
    if (request_id !== null) this.#hold(runner_id, epoch, request_id);
    return orders;
  }

  /** Signals of one claim do not affect another. */
  async #signal(id: string, epoch: number | null, say: () => Promise<boolean>): Promise<boolean> {
    const { store, now, chronicle } = this.#options;
    const found = store.list({ ids: [id] }, { offset: 0, limit: 1 });
    const isHeard = await say();
    if (!isHeard) return false;
    this.#heartbeats.set(id, now());
    const [before] = await found;
    const meant = this.#holds.get(`${id} ${epoch}`);
    const held = before?.request_id ?? null;
    if (held !== null && held !== meant)
      throw chronicle.violation(`runner ${id} sent ${meant}, but ${held} was applied`);
    return true;
  }

  #grants(grants: Grant[]): Grant[] {
    for (const { request_id, runners } of grants) {
      for (const { id, epoch } of runners) this.#hold(id, epoch, request_id);
    }
    return grants;
  }

  /** In one epoch, a runner is held for one request. */
  #hold(runner: string, epoch: number, request: string): void {
    const key = `${runner} ${epoch}`;
    const before = this.#holds.get(key);
    if (before !== undefined && before !== request)
      throw this.#options.chronicle.violation(`runner ${key} is held for ${before} and ${request}`);
    if (epoch < (this.#epochs.get(runner) ?? 0))
      throw this.#options.chronicle.violation(`the epoch of runner ${runner} went back to ${epoch}`);
    if (before === undefined) this.#options.chronicle.note(`held ${key} for ${request}`);
    this.#holds.set(key, request);
    this.#epochs.set(runner, epoch);
  }

  async #ending<T>(run: () => Promise<T>): Promise<T> {
    const { store, now, chronicle } = this.#options;
    const page = { offset: 0, limit: 1_000 };
    // Each call completes its work before it returns, so nothing happens between these three.
    const left = store.list({ ended: false }, page);
    const ran = run();
    const still = store.list({ ended: false }, page);
    const before = await left;
    const alive = new Set((await still).map(({ id }) => id));
    const ended = before.filter(({ id }) => !alive.has(id));
    if (ended.length === 0) return ran;
    const after = await store.list({ ids: ended.map(({ id }) => id) }, page);
    const was = new Map(before.map((runner) => [runner.id, runner]));
    for (const { id, reason } of after) {
      chronicle.note(`ended ${id}: ${reason}`);
      this.#judge(was.get(id)!, reason ?? '', now());
    }
    return ran;
  }

  /** No live runner is ended. */
  #judge(runner: Runner, reason: string, now: number): void {
    const { times } = this.#options;
    const quiet = now - (this.#heartbeats.get(runner.id) ?? runner.state_since);
    const isHeld = runner.state === 'claimed' || runner.state === 'running';
    const wrong = {
      lost: quiet < times.heartbeat_timeout_ms,
      vanished:
        (isHeld && quiet < times.heartbeat_max_age_ms) ||
        (runner.provider_id !== null && this.#options.runs(runner.provider_id)),
      unconfirmed: runner.state !== 'claimed' || now - runner.state_since < times.confirm_ms,
      'idle too long': runner.state !== 'idle' || runner.threshold > now,
      'never registered': runner.state !== 'created' || now - runner.created_at < times.register_ms,
      'never launched': runner.state !== 'created' || now - runner.created_at < times.created_ms,
    }[reason];
    if (wrong === true)
      throw this.#options.chronicle.violation(`runner ${runner.id}, ${runner.state}, was ended: ${reason}`);
  }
}
