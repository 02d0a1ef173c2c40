import { backoffMs } from '../runtime/backoff.ts';
import type { PoolContext } from './context.ts';
import { within } from './deadline.ts';
import type { LaunchHealth } from './launch-health.ts';
import type { LaunchObstacle } from './pool-port.ts';
import { LaunchFailure, type LaunchBatch, type LaunchFault, type LaunchResult } from './port/provider.ts';

const BATCHES_A_PASS = 8;
/** Longer than a call may take, so that two processes do not make the same one at once. */
const LEASE_MS = 120_000;
const CALL_MS = 90_000;
const THROTTLED_BACKOFF = { base_ms: 1_000, factor: 2, max_ms: 60_000, jitter: 0.5 };
const UNCLEAR_BACKOFF = { base_ms: 500, factor: 2, max_ms: 30_000, jitter: 0.5 };
const REASON_CHARS_MAX = 500;
const DELAYED_MAX = 100;

/** Makes the launches that are planned. A call that may have been made before is made again with the same words. */
export class Launcher {
  readonly #context: PoolContext;
  readonly #health: LaunchHealth;
  /** Launches that this process tries again, by batch. */
  readonly #delayed = new Map<string, LaunchObstacle & { readonly retry_at: number }>();

  constructor(context: PoolContext, health: LaunchHealth) {
    this.#context = context;
    this.#health = health;
  }

  /** What holds back launches that are planned already. */
  get obstacles(): readonly LaunchObstacle[] {
    return [...this.#delayed.values()];
  }

  async runOnce(): Promise<'again' | 'idle'> {
    const { store, provider, policy } = this.#context;
    this.#forgetTaken();
    const batches = await store.takeBatches(provider.name, BATCHES_A_PASS, LEASE_MS, policy.launch_rate);
    if (batches.length === 0) return 'idle';
    const outcomes = await Promise.allSettled(batches.map((batch) => this.#launch(batch)));
    // One that could not be written down is made again when its lease is over, and answers the same.
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return 'again';
  }

  /** Another process may have made the try, or found that it is over. */
  #forgetTaken(): void {
    const before = this.#context.clock.now() - LEASE_MS;
    for (const [id, { retry_at }] of this.#delayed) if (retry_at < before) this.#delayed.delete(id);
  }

  async #launch(batch: LaunchBatch): Promise<void> {
    const { store, provider, clock } = this.#context;
    this.#delayed.delete(batch.id);
    let result: LaunchResult;
    try {
      result = await within(clock, CALL_MS, `the provider ${provider.name}`, provider.launch(batch));
    } catch (error) {
      await this.#failed(batch, error);
      return;
    }
    await store.launched(batch.id, result.launched, result.missing);
    this.#count('launched', result.launched.length);
    this.#count('missing', batch.runner_ids.length - result.launched.length);
    if (result.missing !== null) this.#health.failed(batch.requirements, result.missing, 'capacity');
  }

  async #failed(batch: LaunchBatch, error: unknown): Promise<void> {
    const { store, log, provider } = this.#context;
    const { fault, reason } = faultOf(error);
    const retryAt = this.#retryAt(batch, fault);
    const fields = { batch: batch.id, provider: provider.name, fault, tries: batch.tries + 1, err: error };
    if (retryAt === null) log.warn(fields, `A launch of ${batch.runner_ids.length} runners failed: ${REMEDIES[fault]}`);
    else log.info(fields, 'A launch is tried again');
    await store.launchFailed(batch.id, reason, retryAt);
    if (retryAt !== null && this.#delayed.size < DELAYED_MAX)
      this.#delayed.set(batch.id, { requirements: batch.requirements, reason, retry_at: retryAt });
    this.#count(fault, batch.runner_ids.length);
    if (retryAt === null) this.#health.failed(batch.requirements, reason, fault === 'refused' ? 'refused' : 'capacity');
  }

  /** Null: it is given up. */
  #retryAt(batch: LaunchBatch, fault: LaunchFault): number | null {
    const { clock, random, policy } = this.#context;
    if (fault === 'capacity' || fault === 'refused') return null;
    const backoff = fault === 'throttled' ? THROTTLED_BACKOFF : UNCLEAR_BACKOFF;
    const at = clock.now() + backoffMs(backoff, batch.tries + 1, () => random.next());
    // Its runners are given up then, whatever the provider says.
    return at < batch.planned_at + policy.times.created_ms ? at : null;
  }

  #count(outcome: 'launched' | 'missing' | LaunchFault, count: number): void {
    if (count > 0) this.#context.metrics?.launches(this.#context.provider.name, outcome, count);
  }
}

const REMEDIES = {
  throttled: 'the provider took no more calls; lower HEDDLE_POOL_LAUNCH_RATE',
  capacity: 'the provider has none of these now; allow more instance types, or wait',
  refused: 'the provider refuses such launches; see the reason, and mend the settings or the rights of this server',
  unclear: 'the provider gave no clear answer for too long; see the reason, and look for an outage of it',
} as const satisfies Record<LaunchFault, string>;

function faultOf(error: unknown): { fault: LaunchFault; reason: string } {
  const message = error instanceof Error ? error.message : String(error);
  const reason = message.slice(0, REASON_CHARS_MAX);
  // What is no answer of the provider leaves open whether it started anything.
  return { fault: error instanceof LaunchFailure ? error.fault : 'unclear', reason };
}
