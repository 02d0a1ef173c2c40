import { HeddleError } from '@heddle/base/errors';
import { isUuid, uuidV7Generator } from '@heddle/base/ids';
import { END_REASONS } from '../domain/runner/end-reasons.ts';
import { shapeKeyOf, type Demand } from '@heddle/base/vocabulary/requirements';
import type { Runner } from '../domain/runner/runner.ts';
import { aliveIn, batchesOf } from './batches.ts';
import type { PoolContext } from './context.ts';
import { within } from './deadline.ts';
import { historyOf } from './history.ts';
import { PoolParts, type PoolOptions } from './parts.ts';
import type { HoldOptions, PoolClass, PoolOperations, PoolStatus, Provisioned, Refreshed } from './pool-port.ts';
import type { PoolSample } from './port/history.ts';
import type { ClassCensus, NewBatch, RequestWithRunners, RunnerFilter, RunnerRequest } from './port/store.ts';
import { refresh } from './refresh.ts';

const HOLDER_CHARS_MAX = 200;
const IDS_MAX = 1_000;
const PAGE_MAX = 1_000;
/** How long a call to `hold` waits for a backend to find idle runners. */
const ANSWER_MS = 1_000;

/**
 * The pool of one process: its parts, each with its own loop, and the operations on them. Any number of processes may
 * run a pool over the same store.
 */
export class Pool implements PoolOperations {
  readonly parts: PoolParts;
  readonly #context: PoolContext;
  readonly #launches: boolean;
  readonly #newId: () => string;
  readonly #rings = new Set<() => void>();

  constructor(context: PoolContext, options: PoolOptions = {}) {
    const { clock, random } = context;
    this.#context = context;
    this.#launches = options.launches ?? true;
    this.parts = new PoolParts(context, options);
    this.#newId = uuidV7Generator(
      () => clock.now(),
      (into) => into.set(random.bytes(into.length)),
    );
  }

  start(): void {
    for (const { loop } of this.parts.parts) loop.start();
  }

  /** Resolves when the running passes have ended; other processes continue any unfinished work. */
  async stop(): Promise<void> {
    await Promise.all(this.parts.parts.map(({ loop }) => loop.stop()));
  }

  /** Wakes the pool after a new request, or when a runner becomes free while requests wait. */
  wake(): void {
    this.parts.wake('serve requests', 'offer idle runners', 'launch runners');
  }

  /** Notifies subscribers that some process settled holds. */
  ring(): void {
    for (const ring of this.#rings) ring();
  }

  onSettled(ring: () => void): () => void {
    this.#rings.add(ring);
    return () => void this.#rings.delete(ring);
  }

  classes(): readonly PoolClass[] {
    const targets = this.parts.targets.at(this.#context.clock.now());
    return this.#context.policy.classes.map((resourceClass) => ({
      ...resourceClass,
      min_idle: targets
        .filter(({ resource_class }) => resource_class === resourceClass.name)
        .map(({ usage_class, count }) => ({ usage_class, count })),
    }));
  }

  status(): PoolStatus {
    const { backend, provider, policy } = this.#context;
    const { health, launcher, provisioner, replenisher } = this.parts;
    const failed = health.heldBack.map(({ requirements, reason, failures, retry_at }) => ({
      requirements,
      reason: `${failures === 1 ? 'the last launch' : `the last ${failures} launches`} failed: ${reason}`,
      retry_at,
    }));
    return {
      backend: backend.driver,
      provider: provider.name,
      max_runners: policy.max_runners,
      policy,
      parts: this.parts.parts.map(({ status }) => status),
      obstacles: [...failed, ...launcher.obstacles, ...provisioner.obstacles, ...replenisher.obstacles],
    };
  }

  census(): Promise<ClassCensus[]> {
    return this.#context.store.census();
  }

  runners(filter: RunnerFilter, page: { offset: number; limit: number }): Promise<Runner[]> {
    return this.#context.store.list(filter, { ...page, limit: Math.min(page.limit, PAGE_MAX) });
  }

  waiting(limit: number): Promise<RunnerRequest[]> {
    return this.#context.store.waiting(Math.min(limit, PAGE_MAX));
  }

  granted(limit: number): Promise<RunnerRequest[]> {
    return this.#context.store.granted(Math.min(limit, PAGE_MAX));
  }

  async request(id: string): Promise<RequestWithRunners> {
    const request = isUuid(id) ? await this.#context.store.request(id.toLowerCase()) : null;
    if (request === null) throw new HeddleError('NOT_FOUND', `No pool request has the ID ${id.slice(0, 60)}`);
    return request;
  }

  requests(ids: readonly string[]): Promise<RequestWithRunners[]> {
    return this.#context.store.requests(ids.slice(0, IDS_MAX));
  }

  history(sinceMs: number): Promise<PoolSample[]> {
    return historyOf(this.#context, sinceMs);
  }

  async provision(demand: Demand, id?: string): Promise<Provisioned> {
    if (!this.#launches) {
      throw new HeddleError(
        'CONFLICT',
        'This server does not launch runners; set HEDDLE_POOL_PROVIDER, or use another server',
      );
    }
    const { store, policy } = this.#context;
    const namespace = idOf(id) ?? this.#newId();
    const { count, ...requirements } = demand;
    const plan = (size: number) =>
      batchesOf(this.#context, { requirements, count: size, namespace, key: 'warm', demand, coming: null });
    const wanted = plan(count);
    if (wanted === null) throw this.#unknownClass(demand.resource_class);
    const idsOf = (batches: typeof wanted): string[] => batches.flatMap(({ runner_ids }) => runner_ids);
    // A repeated call returns the same answer.
    const before = await this.#existing(idsOf(wanted));
    if (before.length > 0) return provisioned(before, count, policy.max_runners);
    await this.#requireUnused(namespace, wanted);
    const capacity = policy.max_runners - aliveIn(await store.census());
    if (capacity <= 0) {
      const remedy = 'drain some runners, or raise HEDDLE_POOL_MAX_RUNNERS';
      throw new HeddleError('CONFLICT', `The pool is at its limit of ${policy.max_runners} runners; ${remedy}`);
    }
    const batches = plan(Math.min(count, capacity)) ?? [];
    await store.plan(batches, policy.max_runners);
    this.parts.wake('launch runners');
    const launched = await this.#existing(idsOf(batches));
    // A concurrent call with the same id may have won.
    if (launched.length === 0) await this.#requireUnused(namespace, wanted);
    return provisioned(launched, count, policy.max_runners);
  }

  /** @throws HeddleError IDEMPOTENCY_MISMATCH if these batches were already planned for a different demand */
  async #requireUnused(id: string, batches: readonly NewBatch[]): Promise<void> {
    const known = await this.#context.store.knownBatches(batches.slice(0, 1).map((batch) => batch.id));
    if (known.length > 0)
      throw new HeddleError('IDEMPOTENCY_MISMATCH', `The ID ${id} was used for a different demand; use another ID`);
  }

  async hold(demand: Demand, options: HoldOptions): Promise<RequestWithRunners> {
    const { store, clock, policy } = this.#context;
    const details = holdFaults(options);
    if (!policy.classes.some(({ name }) => name === demand.resource_class)) {
      throw this.#unknownClass(demand.resource_class);
    }
    if (demand.count > policy.max_runners) {
      const remedy = 'to allow more runners, raise HEDDLE_POOL_MAX_RUNNERS';
      details.push(`count: must be at most ${policy.max_runners}, not ${demand.count}: ${remedy}`);
    }
    if (details.length > 0) throw new HeddleError('VALIDATION_FAILED', undefined, { details });
    const { holder, tenant, wait_ms } = options;
    const id = idOf(options.id) ?? this.#newId();
    const expires_at = wait_ms === null ? null : clock.now() + wait_ms;
    await store.ask([
      { ...demand, id, tenant: tenant ?? holder, source: 'holder', run: holder, attempt: null, expires_at },
    ]);
    const known = await this.request(id);
    const isSame =
      known.source === 'holder' && known.count === demand.count && shapeKeyOf(known) === shapeKeyOf(demand);
    if (!isSame) {
      throw new HeddleError('IDEMPOTENCY_MISMATCH', `The request ${id} has a different demand; use another ID`);
    }
    if (known.state !== 'waiting') return known;
    await this.#serveNow(known);
    return this.request(id);
  }

  /**
   * Tries to serve a request within a second; a pickup through queues that takes longer continues in the background.
   */
  async #serveNow(request: RunnerRequest): Promise<void> {
    const { backend, clock } = this.#context;
    const serving = this.parts.server.serve([request]);
    // The PostgreSQL backend needs a single statement, so it has no deadline.
    const answer = backend.driver === 'postgres' ? serving : within(clock, ANSWER_MS, 'the backend', serving);
    // The part that serves requests reports failures.
    await answer.catch(() => undefined);
  }

  async releaseHold(id: string): Promise<RequestWithRunners> {
    const request = await this.request(id);
    if (request.source !== 'holder') {
      throw new HeddleError(
        'CONFLICT',
        `The request ${id} belongs to the task ${request.run}; cancel the task instead`,
      );
    }
    if (request.state !== 'ended') {
      await this.#context.store.withdraw([request.id], 'released by its holder');
      this.wake();
    }
    return this.request(id);
  }

  async release(runnerIds: readonly string[]): Promise<number> {
    const held = (await this.#existing(idsOf(runnerIds))).filter(({ request_id }) => request_id !== null);
    const requests = [...new Set(held.flatMap(({ request_id }) => request_id ?? []))];
    const known = requests.length === 0 ? [] : await this.requests(requests);
    const tasks = known.filter(({ source }) => source === 'task');
    if (tasks.length > 0) {
      const runs = tasks.slice(0, 10).map(({ run }) => run);
      const remedy = 'cancel the task, or terminate the runner, which gives the task another one';
      throw new HeddleError('CONFLICT', `Runners are working on the tasks ${runs.join(', ')}; ${remedy}`);
    }
    requireWhole(known, new Set(held.map(({ id }) => id)));
    // The requests end, so that they do not wait for runners again.
    if (requests.length > 0) await this.#context.store.withdraw(requests, 'released by a user');
    this.wake();
    return held.length;
  }

  async drain(runnerIds: readonly string[]): Promise<number> {
    const count = await this.#context.store.drain(idsOf(runnerIds), END_REASONS.drained);
    this.parts.wake('end instances', 'serve requests');
    return count;
  }

  async terminate(runnerIds: readonly string[]): Promise<number> {
    const count = await this.#context.store.terminate(idsOf(runnerIds), END_REASONS.by_hand);
    this.parts.wake('end instances', 'serve requests');
    return count;
  }

  async refresh(): Promise<Refreshed> {
    const refreshed = await refresh(this.#context, this.parts, this.#launches);
    this.parts.wake('plan launches', 'keep runners idle');
    this.wake();
    return refreshed;
  }

  #existing(ids: readonly string[]): Promise<Runner[]> {
    return this.#context.store.list({ ids }, { offset: 0, limit: Math.max(1, ids.length) });
  }

  #unknownClass(name: string): HeddleError {
    const known = this.#context.policy.classes.map((one) => one.name).join(', ');
    const detail = `resource_class: must be a class of the pool, not ${JSON.stringify(name.slice(0, 64))}; known classes: ${known}`;
    return new HeddleError('VALIDATION_FAILED', undefined, { details: [detail] });
  }
}

/** @throws HeddleError CONFLICT if a hold also has other runners: a hold is released as a whole */
function requireWhole(holds: readonly RequestWithRunners[], released: ReadonlySet<string>): void {
  const partial = holds.find(({ runners }) => runners.some(({ id }) => !released.has(id)));
  if (partial === undefined) return;
  const { id, run, runners } = partial;
  const fault = `The hold ${id} of ${run} has ${runners.length} runners, which can only be released together`;
  throw new HeddleError('CONFLICT', `${fault}; to release all of them, run: heddle pool release-hold ${id}`);
}

function provisioned(runners: readonly Runner[], count: number, max: number): Provisioned {
  const not_launched = count - runners.length;
  const reason =
    not_launched > 0
      ? `the pool is at its limit of ${max} runners; drain some, or raise HEDDLE_POOL_MAX_RUNNERS`
      : null;
  return { runner_ids: runners.map(({ id }) => id), not_launched, reason };
}

function holdFaults({ id, holder, tenant, wait_ms }: HoldOptions): string[] {
  const details: string[] = [];
  const isName = (text: string): boolean => text.length > 0 && text.length <= HOLDER_CHARS_MAX && !text.includes('\0');
  if (id !== null && !isUuid(id)) details.push('id: must be a UUID; omit it for a new request');
  if (!isName(holder)) details.push(`holder: must have 1 to ${HOLDER_CHARS_MAX} characters`);
  if (tenant !== null && !isName(tenant)) details.push(`tenant: must have 1 to ${HOLDER_CHARS_MAX} characters`);
  if (wait_ms !== null && !(wait_ms > 0)) details.push('wait_ms: must be more than 0; omit it to wait without a limit');
  return details;
}

function idOf(id: string | null | undefined): string | null {
  if (id === null || id === undefined) return null;
  if (isUuid(id)) return id.toLowerCase();
  throw new HeddleError('VALIDATION_FAILED', undefined, {
    details: ['id: must be a UUID; omit it to get a new one'],
  });
}

function idsOf(given: readonly string[]): string[] {
  const details = given.flatMap((id, at) => (isUuid(id) ? [] : [`runner_ids[${at}]: must be a runner ID (a UUID)`]));
  if (given.length > IDS_MAX) details.unshift(`runner_ids: must have at most ${IDS_MAX} items, not ${given.length}`);
  if (details.length > 0) throw new HeddleError('VALIDATION_FAILED', undefined, { details: details.slice(0, 100) });
  return given.map((id) => id.toLowerCase());
}
