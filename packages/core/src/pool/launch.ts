import { backoffMs } from '@heddle/base/backoff';
import { messageOf } from '@heddle/base/thrown';
import type { PoolContext } from './context.ts';
import { within } from './deadline.ts';
import type { LaunchHealth } from './launch-health.ts';
import type { LaunchObstacle } from './pool-port.ts';
import { LaunchFailure, type LaunchBatch, type LaunchFault, type LaunchResult } from './port/provider.ts';

const BATCHES_PER_PASS = 8;
/** Longer than the timeout of a call, so that two processes do not make the same call concurrently. */
const LEASE_MS = 120_000;
const CALL_MS = 90_000;
const THROTTLED_BACKOFF = { base_ms: 1_000, factor: 2, max_ms: 60_000, jitter: 0.5 };
const UNCLEAR_BACKOFF = { base_ms: 500, factor: 2, max_ms: 30_000, jitter: 0.5 };
const REASON_CHARS_MAX = 500;
const DELAYED_MAX = 100;

/** Executes planned launches. A call that may already have been made is repeated with the same arguments. */
export class Launcher {
  readonly #context: PoolContext;
  readonly #health: LaunchHealth;
  /** Launches that this process will retry, by batch. */
  readonly #delayed = new Map<string, LaunchObstacle & { readonly retry_at: number }>();

  constructor(context: PoolContext, health: LaunchHealth) {
    this.#context = context;
    this.#health = health;
  }

  /** Reasons why planned launches are delayed. */
  get obstacles(): readonly LaunchObstacle[] {
    return [...this.#delayed.values()];
  }

  async runOnce(): Promise<'again' | 'idle'> {
    const { store, provider, policy } = this.#context;
    this.#forgetTaken();
    const batches = await store.takeBatches(provider.name, BATCHES_PER_PASS, LEASE_MS, policy.launch_rate);
    if (batches.length === 0) return 'idle';
    const outcomes = await Promise.allSettled(batches.map((batch) => this.#launch(batch)));
    // A launch that could not be recorded is repeated when its lease expires, with the same result.
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return 'again';
  }

  /** Another process may have retried the launch or abandoned it. */
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
    if (retryAt === null) log.warn(fields, `launch of ${batch.runner_ids.length} runners failed: ${REMEDIES[fault]}`);
    else log.info(fields, 'launch failed; retrying');
    await store.launchFailed(batch.id, reason, retryAt);
    if (retryAt !== null && this.#delayed.size < DELAYED_MAX)
      this.#delayed.set(batch.id, { requirements: batch.requirements, reason, retry_at: retryAt });
    this.#count(fault, batch.runner_ids.length);
    if (retryAt === null) this.#health.failed(batch.requirements, reason, fault === 'refused' ? 'refused' : 'capacity');
  }

  /** Null: the launch is abandoned. */
  #retryAt(batch: LaunchBatch, fault: LaunchFault): number | null {
    const { clock, random, policy } = this.#context;
    if (fault === 'capacity' || fault === 'refused') return null;
    const backoff = fault === 'throttled' ? THROTTLED_BACKOFF : UNCLEAR_BACKOFF;
    const at = clock.now() + backoffMs(backoff, batch.tries + 1, () => random.next());
    // By then its runners have been ended, whatever the provider answers.
    return at < batch.planned_at + policy.times.created_ms ? at : null;
  }

  #count(outcome: 'launched' | 'missing' | LaunchFault, count: number): void {
    if (count > 0) this.#context.metrics?.launches(this.#context.provider.name, outcome, count);
  }
}

const REMEDIES = {
  throttled: 'the provider throttled the calls; lower HEDDLE_POOL_LAUNCH_RATE',
  capacity: 'the provider has no capacity for these instance types; allow more types, or wait',
  refused: 'the provider refused the launch; see the reason, then fix the settings or the permissions of this server',
  unclear: 'the provider gave no definite answer in time; see the reason, and check the provider for an outage',
} as const satisfies Record<LaunchFault, string>;

function faultOf(error: unknown): { fault: LaunchFault; reason: string } {
  const message = messageOf(error);
  const reason = message.slice(0, REASON_CHARS_MAX);
  // Without an answer from the provider, instances may or may not have started.
  return { fault: error instanceof LaunchFailure ? error.fault : 'unclear', reason };
}
