import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { settingsOf } from '@heddle/base/vocabulary/task-fields';

import type { Action, NewTask } from '@heddle/base/vocabulary/task';
import type {
  ClaimedTask,
  ClaimRequest,
  Delivery,
  Engine,
  ProgressResult,
  Report,
  Submission,
} from '@heddle/core/engine/port';
import { newId } from '@heddle/base/random';
import { patience } from '@heddle/test-support/patience';
import type { Journal } from './journal.ts';

/** What every task of the scenario comes to in the end. */
export const OUTCOMES: Readonly<Record<string, { state: string; attempt?: number; ends: readonly string[] }>> = {
  counted: { state: 'succeeded', attempt: 1, ends: ['success'] },
  retried: { state: 'succeeded', attempt: 2, ends: ['success'] },
  child: { state: 'succeeded', attempt: 1, ends: ['success'] },
  doomed: { state: 'failed', attempt: 1, ends: ['failure'] },
  orphan: { state: 'failed', attempt: 0, ends: ['failure'] },
  canceled: { state: 'canceled', attempt: 1, ends: ['cancel'] },
  paused: { state: 'succeeded', attempt: 1, ends: ['success'] },
  // Its worker may die with it: then it runs again.
  local: { state: 'succeeded', ends: ['success'] },
  along: { state: 'succeeded', ends: ['success'] },
  // In a workflow of its own; its parent is `counted`, of another.
  abroad: { state: 'succeeded', attempt: 1, ends: ['success'] },
  later: { state: 'succeeded', attempt: 1, ends: ['success'] },
  // Submitted when its parent had failed.
  stillborn: { state: 'failed', attempt: 0, ends: ['failure'] },
  unkeyed: { state: 'succeeded', attempt: 1, ends: ['success'] },
  // Claimed in the transaction that stored it, by a claimer that may die with it.
  brought: { state: 'succeeded', ends: ['success'] },
};

export const COUNTED_UNITS = 4;
export const UNKEYED_UNITS = 3;

interface Extra extends Partial<NewTask> {
  starts?: boolean;
}

/** The tasks of one run of the scenario; kinds are its own, so that many runs may share a database. */
export class Scenario {
  readonly run: string;

  constructor(run: string) {
    this.run = run;
  }

  get #hook(): string {
    return `hook-${this.run}`;
  }

  get localKind(): string {
    return `local-${this.run}`;
  }

  submissions(): Record<'first' | 'second' | 'plain' | 'late', Submission> {
    const hook = this.#hook;
    const rules = [{ type: 'concurrency', matcher: { kind: hook, fields: [] }, max: 2 }] as const;
    const capacity = { type: 'capacity', matcher: { kind: hook, fields: ['run'] }, max: 10 } as const;
    const required = (index: number): NewTask['dependencies'] => [{ index, requires_success: true }];
    const retry = { max_attempts: 5, base_ms: 5, factor: 1, max_ms: 5, jitter: 0 };
    const dedupe = [{ kind: hook, states: ['pending', 'claimed', 'running', 'succeeded'], fields: ['same'] }] as const;
    const failed = [{ kind: hook, states: ['failed'], fields: ['same'] }] as const;
    const first = this.#submission('first', [
      this.#task('counted', { rules: [...rules, capacity], expected_count: COUNTED_UNITS, metadata: { same: 1 } }),
      this.#task('retried', { rules, retry, dependencies: required(0) }),
      this.#task('child', { dependencies: [{ index: 1, requires_success: false }] }),
      this.#task('doomed', { rules, metadata: { same: 2 } }),
      this.#task('orphan', { dependencies: required(3) }),
      this.#task('canceled', { rules }),
      this.#task('paused'),
      this.#task('local', { kind: this.localKind, timeout_secs: 60, retry, starts: false }),
      this.#task('along', { kind: this.localKind, timeout_secs: 60, retry, starts: false }),
    ]);
    const second = this.#submission('second', [
      this.#task('same as counted', { metadata: { same: 1 }, dedupe }),
      this.#task('abroad', { dependencies: required(0) }),
      this.#task('later', { delay_ms: 5 }),
    ]);
    const brought = this.#task('brought', { kind: this.localKind, timeout_secs: 60, retry, starts: false });
    const plain = { ...this.#submission('plain', [this.#task('unkeyed'), brought]), idempotency: null };
    const late = this.#submission('late', [
      this.#task('same as doomed', { metadata: { same: 2 }, dedupe: failed }),
      this.#task('stillborn', { dependencies: required(0) }),
    ]);
    return { first, second, plain, late };
  }

  #submission(name: string, tasks: NewTask[]): Submission {
    const idempotency = { key: `${name}-${this.run}`, body_hash: name };
    return { workflow_id: newId(), name: `${name} ${this.run}`, tasks, traceparent: null, idempotency };
  }

  #task(name: string, extra: Extra = {}): NewTask {
    return newTask(this.#hook, name, { ...extra, metadata: { run: this.run, ...extra.metadata } });
  }
}

/** Returns a task of a kind with webhooks to a target that the scenario plays. */
export function newTask(kind: string, name: string, { starts = true, ...extra }: Extra = {}): NewTask {
  const action = (trigger: Action['trigger']): Action => ({
    trigger,
    params: { url: 'http://target.test/', verb: 'Post', body: { name } },
  });
  const actions = [...(starts ? [action('start')] : []), action('success'), action('failure')];
  return {
    id: newId(),
    local_id: name,
    name,
    kind,
    ...settingsOf('batch', { timeout: 86_400 }),
    delay_ms: 0,
    actions,
    rules: [],
    dedupe: [],
    retry: null,
    dependencies: [],
    metadata: {},
    ...extra,
  };
}

const HOLDER = 'crash-test';
const LEASE_MS = 60_000;
const DRIVE_MS = 60_000;

/**
 * Plays server, webhook target and worker in turns until everything has ended, from wherever the journal says that an
 * earlier process got to.
 */
export class Driver {
  readonly #engine: Engine;
  readonly #journal: Journal;
  readonly #scenario: Scenario;
  readonly #finished: () => Promise<boolean>;

  constructor(engine: Engine, journal: Journal, scenario: Scenario, finished: () => Promise<boolean>) {
    this.#engine = engine;
    this.#journal = journal;
    this.#scenario = scenario;
    this.#finished = finished;
  }

  async drive(): Promise<void> {
    const { late, ...others } = this.#scenario.submissions();
    await this.#submit(others);
    await this.#untilFinished();
    await this.#submit({ late });
    await this.#untilFinished();
  }

  async #untilFinished(): Promise<void> {
    const deadline = performance.now() + DRIVE_MS * patience();
    do {
      if (performance.now() > deadline) throw new Error('The scenario does not end');
      await this.#engine.claimForDelivery(HOLDER, 100);
      await this.#deliver();
      for (const start of this.#journal.openStarts()) await this.#work(start.name, start.task_id, start.attempt);
      await this.#runLocal();
      await this.#engine.sweep();
      await sleep(6);
    } while (!(await this.#finished()));
  }

  async #submit(submissions: Record<string, Submission>): Promise<void> {
    for (const [name, submission] of Object.entries(submissions)) {
      if (this.#journal.submitted.has(name)) continue;
      const brought: ClaimedTask[] = [];
      const request = this.#localClaim;
      const arrived = (tasks: ClaimedTask[] | null): void => void brought.push(...(tasks ?? []));
      const withdraw = this.#engine.offerToClaim(request.lanes, () => ({ request, arrived }));
      const [result] = await this.#engine.submit([submission]);
      withdraw();
      this.#journal.note({ event: 'submitted', name, workflow_id: result!.workflow_id });
      await this.#runClaimed(brought);
    }
  }

  async #deliver(): Promise<void> {
    const claim = { holder: HOLDER, limit: 100, limit_per_origin: 100, saturated_origins: [], lease_ms: LEASE_MS };
    const deliveries = await this.#engine.claimDeliveries(claim);
    if (deliveries.length === 0) return;
    for (const delivery of deliveries) this.#receive(delivery);
    await this.#engine.renewDeliveries(deliveries, LEASE_MS);
    await this.#engine.settleDeliveries(
      deliveries.map(({ id, tries, trigger, action: sent }) => {
        const action = sent as Action;
        const delivered = { id, tries, outcome: 'delivered', status: 200 } as const;
        if (trigger !== 'start' || nameOf(action) !== 'canceled') return delivered;
        return { ...delivered, cancel_action: { ...action, trigger: 'cancel' as const } };
      }),
    );
  }

  /** As a target takes it: before the server knows. */
  #receive({ task_id, attempt, trigger, idempotency_key: key, action }: Delivery): void {
    const name = nameOf(action as Action);
    if (trigger === 'start') this.#journal.note({ event: 'started', name, task_id, attempt, key });
    else this.#journal.note({ event: 'ended', name, task_id, trigger, key });
  }

  async #work(name: string, task_id: string, attempt: number): Promise<void> {
    const engine = this.#engine;
    const report = { task_id, attempt, outcome: 'succeeded' } as const;
    switch (name) {
      case 'counted':
        for (const part of ['one', 'two']) await this.#count(task_id, COUNTED_UNITS / 2, part);
        await this.#report({ ...report, metadata_patch: { seen: true } });
        // Too late, and refused however often it comes.
        for (const _try of [1, 2]) await this.#count(task_id, COUNTED_UNITS, 'three', 'terminal');
        return;
      case 'unkeyed':
        await this.#count(task_id, UNKEYED_UNITS, null);
        return this.#report(report);
      case 'retried':
        return this.#report(attempt === 1 ? { ...report, outcome: 'failed', reason: 'for now' } : report);
      case 'doomed':
        return this.#report({ ...report, outcome: 'failed', reason: 'for good' });
      case 'canceled':
        await engine.cancel([task_id]);
        return this.#report({ ...report, outcome: 'failed', reason: 'too late' });
      case 'paused':
        await engine.pause([task_id]);
        await engine.resume([task_id]);
        await engine.update([{ task_id, attempt, metadata_patch: { went: 'on' } }]);
        return this.#report(report);
      default:
        return this.#report(report);
    }
  }

  /** A count without a key is not repeated: no one knows whether it was taken. */
  async #count(task_id: string, new_success: number, part: string | null, refusal?: ProgressResult): Promise<void> {
    const key = `${task_id}/${part ?? 'unkeyed'}`;
    if (part === null && this.#journal.counting.has(key)) return;
    this.#journal.note({ event: 'counting', key });
    const count = { task_id, attempt: null, new_success, new_failures: 0, idempotency_key: part };
    const [result] = await this.#engine.progress([count]);
    if (refusal !== undefined) {
      assert.equal(result, refusal);
      return;
    }
    assert.ok(result === 'applied' || result === 'repeated', result);
    this.#journal.note({ event: 'counted', key, units: new_success });
  }

  async #report(report: Report): Promise<void> {
    await this.#engine.report([report]);
    this.#journal.note({ event: 'reported', task_id: report.task_id, attempt: report.attempt! });
  }

  get #localClaim(): ClaimRequest {
    return { lanes: [`kind:${this.#scenario.localKind}`], limit: 10, holder: HOLDER };
  }

  async #runLocal(): Promise<void> {
    await this.#runClaimed(await this.#engine.claim(this.#localClaim));
  }

  async #runClaimed(tasks: ClaimedTask[]): Promise<void> {
    const request = this.#localClaim;
    for (const { id, name, attempt, workflow_id, linked } of tasks) {
      this.#journal.note({ event: 'ran', task_id: id, attempt });
      const report: Report = { task_id: id, attempt, outcome: 'succeeded', workflow: { id: workflow_id, linked } };
      if (name === 'local') {
        await this.#report({ ...report, result: { by: attempt } });
        continue;
      }
      tasks.push(...(await this.#engine.reportAndClaim([report], request)).claimed);
      this.#journal.note({ event: 'reported', task_id: id, attempt });
    }
  }
}

function nameOf(action: Action): string {
  return (action.params.body as { name: string }).name;
}
