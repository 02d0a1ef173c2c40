import type { Runner } from '../../../../src/domain/runner/runner.ts';
import type { PoolTimes, RunnerRequest, RunnerStore } from '../../../../src/pool/port/store.ts';
import type { Clock } from '@heddle/base/clock';
import type { Chronicle } from './chronicle.ts';
import type { Cloud, Instance } from './cloud.ts';

export interface AuditOptions {
  readonly store: RunnerStore;
  readonly cloud: Cloud;
  readonly times: PoolTimes;
  readonly chronicle: Chronicle;
  readonly clock: Clock;
  /** When each runner was last offered to the queue; null without a queue. */
  readonly offers: ReadonlyMap<string, number> | null;
}

/** An orphaned instance is gone within this time after the second check. */
const ORPHAN_GRACE_MS = 120_000;
/** An overdue runner ends within this time, however often servers are killed. */
const OVERDUE_MS = 60_000;
/** An idle runner is offered to the queue at least this often, since messages may be lost. */
const OFFERED_MS = 150_000;
const ALL = { offset: 0, limit: 10_000 };

/** Checks the whole state against the invariants. */
export class Audit {
  readonly #options: AuditOptions;
  /** At the last check: the hold of each runner. */
  #heldFor = new Map<string, string>();
  /** Instances without a live runner, with the time of the first check. */
  #orphanedAt = new Map<string, number>();

  constructor(options: AuditOptions) {
    this.#options = options;
  }

  /** @param isCalm whether faults have ended */
  async check(isCalm: boolean): Promise<void> {
    const { store, clock } = this.#options;
    // Both are read consistently: the store completes its work before it returns.
    const [live, granted, waiting] = await Promise.all([
      store.list({ ended: false }, ALL),
      store.granted(1_000),
      store.waiting(10_000),
    ]);
    const keeping = waiting.filter(({ kept }) => kept > 0);
    this.#lookAtHolds(live, granted, keeping);
    await this.#lookAtLosses(live, [...granted, ...keeping]);
    const now = clock.now();
    for (const runner of live) {
      const hasEnd = runner.state !== 'running';
      if (hasEnd && runner.threshold + OVERDUE_MS < now)
        this.#refuse(`runner ${runner.id}, ${runner.state}, is overdue`);
    }
    this.#checkOrphans(live, now);
    if (isCalm) this.#checkOffers(live, now);
  }

  /** Whether the pool asked the provider to terminate it. */
  async terminated(instance: Instance): Promise<void> {
    const live = await this.#options.store.list({ ended: false }, ALL);
    const owner = ownerOf(instance, live);
    if (owner !== undefined)
      this.#refuse(`the instance ${instance.provider_id} of runner ${owner.id}, ${owner.state}, was ended`);
  }

  /** After faults have ended: all requests are served, and nothing is left over. */
  async settled(): Promise<void> {
    const { store, cloud } = this.#options;
    const [waiting] = await store.waiting(1);
    if (waiting !== undefined)
      this.#refuse(`request ${waiting.id} waits forever: ${waiting.exhaustion}, ${waiting.reason}`);
    const [granted] = await store.granted(1);
    if (granted !== undefined) this.#refuse(`request ${granted.id} is granted forever`);
    const [runner] = await store.list({ ended: false }, ALL);
    if (runner !== undefined) this.#refuse(`runner ${runner.id} is ${runner.state} forever`);
    const [instance] = cloud.running;
    if (instance !== undefined) this.#refuse(`the instance ${instance.provider_id} runs forever`);
  }

  /** A held runner belongs to a request with as many runners as it asks for. */
  #lookAtHolds(live: readonly Runner[], granted: readonly RunnerRequest[], keeping: readonly RunnerRequest[]): void {
    const held = Map.groupBy(
      live.filter(({ state }) => state === 'claimed' || state === 'running'),
      ({ request_id }) => request_id,
    );
    for (const { id, count, source } of granted) {
      const runners = held.get(id) ?? [];
      held.delete(id);
      // A task may lose one of its other runners without noticing.
      const isWhole = runners.length === count || (source === 'task' && runners.length > 0 && runners.length < count);
      if (!isWhole) this.#refuse(`request ${id} asks for ${count} and has ${runners.length}`);
    }
    for (const { id, kept, source } of keeping) {
      const runners = held.get(id) ?? [];
      held.delete(id);
      if (source !== 'holder' || runners.length !== kept)
        this.#refuse(`request ${id} keeps ${kept} and has ${runners.length}`);
    }
    for (const [id, [runner]] of held) this.#refuse(`runner ${runner!.id} is held for ${id}, which is not granted`);
  }

  /** A hold keeps its runners until it is released or they end. */
  async #lookAtLosses(live: readonly Runner[], holding: readonly RunnerRequest[]): Promise<void> {
    const holds = new Set(holding.flatMap(({ id, source }) => (source === 'holder' ? [id] : [])));
    const before = this.#heldFor;
    this.#heldFor = new Map(
      live.flatMap(({ id, request_id }) => (request_id !== null && holds.has(request_id) ? [[id, request_id]] : [])),
    );
    for (const { id, request_id } of live) {
      const hold = before.get(id);
      if (hold === undefined || hold === request_id) continue;
      const request = await this.#options.store.request(hold);
      if (request !== null && request.state !== 'ended')
        this.#refuse(`runner ${id} was taken from the hold ${hold}, which is ${request.state}`);
    }
  }

  #checkOffers(live: readonly Runner[], now: number): void {
    const { offers } = this.#options;
    if (offers === null) return;
    for (const { id, state, state_since, draining } of live) {
      const since = Math.max(state_since, offers.get(id) ?? 0);
      if (state === 'idle' && !draining && now - since > OFFERED_MS)
        this.#refuse(`runner ${id} is idle and was not offered for too long`);
    }
  }

  #checkOrphans(live: readonly Runner[], now: number): void {
    const { cloud, times } = this.#options;
    const before = this.#orphanedAt;
    this.#orphanedAt = new Map();
    for (const instance of cloud.running) {
      if (ownerOf(instance, live) !== undefined) continue;
      const { provider_id } = instance;
      const since = before.get(provider_id) ?? now;
      this.#orphanedAt.set(provider_id, since);
      if (now - since > times.recheck_ms + ORPHAN_GRACE_MS)
        this.#refuse(`the instance ${provider_id} is orphaned for too long`);
    }
  }

  #refuse(what: string): never {
    throw this.#options.chronicle.violation(what);
  }
}

/** The live runner of an instance, including the candidates while the answer to its launch is unknown. */
function ownerOf({ provider_id, runner_id }: Instance, live: readonly Runner[]): Runner | undefined {
  return live.find(
    (runner) => runner.provider_id === provider_id || (runner.provider_id === null && runner.id === runner_id),
  );
}
