import assert from 'node:assert/strict';
import type { TaskId } from '@heddle/base/ids';
import {
  type Model,
  type ModelEvent,
  type Step,
  type WaitingForSlots,
  emptyModel,
  judgeClaim,
  step,
} from '@heddle/test-support/model';
import { isTerminal } from '@heddle/base/vocabulary/task-state';
import type { ClaimAlong, ClaimedTask, DeliveryResult, Engine } from '../../../../src/engine/port.ts';
import type { VirtualClock } from '@heddle/base/clock';
import { newId } from '@heddle/base/random';
import type { Database, Statement } from '../../../../src/store/database.ts';
import { eventOf } from '../../domain/play.ts';
import { buildWorkflow } from '../../domain/scenario.ts';
import type { Command, Scenario, WorkflowSpec } from '../../domain/scenario.ts';
import { differences, waitingForSlots } from './differences.ts';

const LOSE_DELIVERIES: Statement = {
  name: 'property_lose_deliveries',
  text: `delete from heddle.delivery where task_id = any($1::uuid[]) and trigger = 'start' and state = 'due'`,
};

export const CLAIM_TIMEOUT_MS = 30_000;
const DELIVERY_LEASE_MS = 10_000;
const DELIVERY_RETRY_MS = 1_000;
const HOLDER = 'property test';

export interface Subject {
  engine: Engine;
  database: Database;
  clock: VirtualClock;
}

/** The engine and the model, moved by the same commands; every step asserts that they agree. */
export class SideBySide {
  readonly #subject: Subject;
  readonly #prefix: string;
  readonly #story: string[] = [];
  #model: Model = emptyModel(CLAIM_TIMEOUT_MS);

  /** @param prefix makes the kinds of this scenario its own: no other scenario shares its lanes or slots */
  constructor(subject: Subject, prefix: string) {
    this.#subject = subject;
    this.#prefix = prefix;
  }

  async play(scenario: Scenario): Promise<void> {
    const unsubmitted = [...scenario.workflows];
    try {
      await this.#submit(unsubmitted.shift()!);
      for (const command of scenario.commands) {
        const next = command.type === 'submit' ? unsubmitted.shift() : undefined;
        if (next !== undefined) await this.#submit(next);
        await this.#play(command);
      }
      await this.#drain();
    } catch (error) {
      throw new Error(`${(error as Error).message}\nafter:\n  ${this.#story.join('\n  ')}`, { cause: error });
    }
  }

  /** Those of all kinds. */
  get #lanes(): string[] {
    return [0, 1, 2].map((kind) => `kind:${this.#prefix}kind-${kind}`);
  }

  get #now(): number {
    return this.#subject.clock.now();
  }

  #apply(event: ModelEvent): Step {
    const after = step(this.#model, event, this.#now);
    this.#model = after.model;
    return after;
  }

  #tell(line: string, ids: readonly TaskId[] = []): void {
    const named = ids.map((id) => `${this.#model.tasks.get(id)?.definition.name ?? '?'} (${id})`);
    this.#story.push([line, ...named].join(' '));
  }

  async #agree(): Promise<void> {
    await this.#relay();
    const found = await differences(this.#subject.engine, this.#subject.database, this.#model);
    assert.deepEqual(found, [], `the database differs from the model:\n  ${found.join('\n  ')}`);
  }

  /** Propagation between workflows travels by the sweep; the model knows no such delay. */
  async #relay(): Promise<void> {
    if (!this.#crossesWorkflows()) return;
    await this.#sweep();
  }

  #crossesWorkflows(): boolean {
    const { tasks } = this.#model;
    return [...tasks.values()].some((task) =>
      task.parents.some(({ parent_id }) => tasks.get(parent_id)!.workflow_id !== task.workflow_id),
    );
  }

  async #sweep(): Promise<void> {
    for (let round = 0; ; round += 1) {
      const { promoted, requeued, timed_out, relayed } = await this.#subject.engine.sweep();
      if (promoted + requeued + timed_out + relayed === 0) break;
      assert.ok(round < 500, 'the sweep never finishes');
    }
    this.#apply({ type: 'expire' });
  }

  async #submit(spec: WorkflowSpec): Promise<void> {
    const { workflow_id, tasks } = buildWorkflow(spec, newId, [...this.#model.tasks.keys()], this.#prefix);
    this.#apply({ type: 'submit', workflow_id, tasks });
    this.#tell(
      `submit ${workflow_id}:`,
      tasks.map((task) => task.id),
    );
    const submission = { workflow_id, name: null, tasks, traceparent: null, idempotency: null };
    const { engine, database } = this.#subject;
    const before = await waitingForSlots(database);
    const limit = spec.along ?? 0;
    const claims: ClaimedTask[][] = [];
    const along: ClaimAlong = {
      request: { lanes: this.#lanes, limit, holder: HOLDER },
      arrived: (tasks) => void claims.push(tasks!),
    };
    const withdraw = limit > 0 ? engine.offerToClaim(this.#lanes, () => along) : () => undefined;
    const [result] = await engine.submit([submission]);
    withdraw();
    assert.deepEqual(
      result!.tasks.map(({ id, state, deduplicated_to }) => ({ id, state, deduplicated_to })),
      tasks.map(({ id }) => ({ id, state: this.#model.tasks.get(id)!.state, deduplicated_to: null })),
      'the answer to submit',
    );
    for (const claimed of claims) await this.#follow(this.#lanes, limit, claimed, before);
    await this.#agree();
  }

  async #play(command: Command): Promise<void> {
    switch (command.type) {
      case 'submit':
        return;
      case 'claim':
        await this.#claim(
          command.kinds.map((kind) => `kind:${this.#prefix}kind-${kind}`),
          command.limit,
        );
        break;
      case 'claim_for_delivery':
        await this.#claimForDelivery(command.limit);
        break;
      case 'deliver':
        await this.#deliver(command.limit, command.verdicts);
        break;
      case 'advance':
        await this.#advance(command.ms);
        break;
      case 'lose_delivery':
        await this.#loseDelivery(eventOf(this.#model, command));
        break;
      case 'report':
      case 'update':
      case 'progress':
      case 'cancel':
      case 'pause':
      case 'resume':
      case 'retry':
      case 'retry_after': {
        const event = eventOf(this.#model, command);
        if (event !== null) await this.#transition(event, command.type === 'report' ? (command.along ?? 0) : 0);
      }
    }
    await this.#agree();
  }

  /** @param along limit of a claim that goes along with reports; 0: none does */
  async #transition(event: ModelEvent, along = 0): Promise<void> {
    this.#tell(JSON.stringify(event));
    const { engine, database } = this.#subject;
    const { outcomes, progress } = this.#apply(event);
    if (event.type === 'report' && along > 0) {
      const before = await waitingForSlots(database);
      const answer = await engine.reportAndClaim(event.reports, { lanes: this.#lanes, limit: along, holder: HOLDER });
      assert.deepEqual(
        answer.outcomes.map(({ task_id, result }) => `${task_id} ${result}`),
        outcomes.map(({ task_id, result }) => `${task_id} ${result}`),
        'the answers to reports with a claim',
      );
      await this.#follow(this.#lanes, along, answer.claimed, before);
      return;
    }
    const answers = await this.#ask(event);
    if (event.type === 'progress') {
      assert.deepEqual(answers, progress, 'the answers to progress');
      return;
    }
    const results = (answers as typeof outcomes).map(({ task_id, result }) => `${task_id} ${result}`);
    assert.deepEqual(
      results,
      outcomes.map(({ task_id, result }) => `${task_id} ${result}`),
      `the answers to ${event.type}`,
    );
  }

  async #ask(event: ModelEvent): Promise<unknown> {
    const { engine } = this.#subject;
    switch (event.type) {
      case 'report':
        return engine.report(event.reports);
      case 'update':
        return engine.update(event.updates);
      case 'progress':
        return engine.progress(event.reports.map((item) => ({ ...item, attempt: null, idempotency_key: null })));
      case 'cancel':
      case 'pause':
      case 'resume':
      case 'retry':
        return engine[event.type](event.ids);
      case 'retry_after':
        return engine.retry(event.ids, { after: true });
      case 'try_start':
      case 'start_failed':
      case 'lose_delivery':
      case 'submit':
      case 'claim':
      case 'start':
      case 'expire':
      case 'heartbeat':
      case 'release':
      case 'submit_workflow':
      case 'create_nodes':
      case 'complete_generators':
      case 'cancel_workflow':
      case 'pause_workflow':
      case 'resume_workflow':
      case 'retry_workflow':
        throw new Error(`${event.type} is not asked here`);
    }
  }

  /** @param before who waited for slots when the claim began */
  async #judge(
    lanes: readonly string[],
    limit: number,
    ids: readonly TaskId[],
    { aside }: WaitingForSlots,
  ): Promise<void> {
    const { promised } = await waitingForSlots(this.#subject.database);
    const { faults } = judgeClaim(this.#model, lanes, limit, ids, this.#now, { promised, aside });
    assert.deepEqual(faults, [], `a claim no correct engine makes:\n  ${faults.join('\n  ')}`);
  }

  async #claim(lanes: string[], limit: number): Promise<number> {
    const before = await waitingForSlots(this.#subject.database);
    const claimed = await this.#subject.engine.claim({ lanes, limit, holder: HOLDER });
    await this.#follow(lanes, limit, claimed, before);
    return claimed.length;
  }

  /** Judges what a claim took, and takes it in the model. */
  async #follow(
    lanes: string[],
    limit: number,
    claimed: readonly ClaimedTask[],
    before: WaitingForSlots,
  ): Promise<void> {
    const ids = claimed.map((task) => task.id);
    this.#tell(`claim ${limit} of ${lanes.join(', ')}:`, ids);
    await this.#judge(lanes, limit, ids, before);
    this.#apply({ type: 'claim', ids, into: 'running' });
    for (const { id, attempt } of claimed)
      assert.equal(attempt, this.#model.tasks.get(id)!.attempt, `attempt of ${id}`);
  }

  async #claimForDelivery(limit: number): Promise<number> {
    const before = await waitingForSlots(this.#subject.database);
    const count = await this.#subject.engine.claimForDelivery(HOLDER, limit);
    const ids = await this.#newlyClaimed();
    this.#tell(`claim ${limit} for delivery:`, ids);
    assert.equal(count, ids.length, 'the number that claimForDelivery answers');
    await this.#judge(['webhook'], limit, ids, before);
    this.#apply({ type: 'claim', ids, into: 'claimed' });
    return count;
  }

  async #newlyClaimed(): Promise<TaskId[]> {
    const ids: TaskId[] = [];
    for (const workflow of new Set([...this.#model.tasks.values()].map((task) => task.workflow_id))) {
      const dag = await this.#subject.engine.getDag(workflow);
      for (const task of dag!.tasks) {
        if (task.state === 'claimed' && this.#model.tasks.get(task.id)!.state !== 'claimed') ids.push(task.id);
      }
    }
    return ids;
  }

  async #deliver(limit: number, verdicts: readonly ('delivered' | 'retry' | 'dead')[]): Promise<number> {
    const request = {
      holder: HOLDER,
      limit,
      limit_per_origin: limit,
      saturated_origins: [],
      lease_ms: DELIVERY_LEASE_MS,
    };
    const deliveries = await this.#subject.engine.claimDeliveries(request);
    const results: DeliveryResult[] = [];
    for (const [at, { id, task_id, attempt, tries }] of deliveries.entries()) {
      const verdict = verdicts[at % verdicts.length]!;
      const task = this.#model.tasks.get(task_id);
      this.#tell(`start delivery ${verdict}, attempt ${attempt}:`, [task_id]);
      const same = task?.attempt === attempt;
      if (same) this.#apply({ type: 'try_start', ids: [task_id] });
      // A result for an ended or canceled attempt changes nothing.
      const current =
        task?.attempt_open === true && task.attempt === attempt && task.state !== 'canceled' && !task.started;
      if (verdict === 'delivered') {
        results.push({ id, tries, outcome: 'delivered', status: 200 });
        if (current) this.#apply({ type: 'start', ids: [task_id] });
      } else if (verdict === 'retry') {
        results.push({ id, tries, outcome: 'retry', status: 503, error: 'busy', delay_ms: DELIVERY_RETRY_MS });
        if (same) this.#apply({ type: 'start_failed', ids: [task_id] });
      } else {
        results.push({ id, tries, outcome: 'dead', status: 400, error: 'refused' });
        if (current) this.#apply({ type: 'report', reports: [{ task_id, attempt, outcome: 'failed' }] });
        else if (same) this.#apply({ type: 'start_failed', ids: [task_id] });
      }
    }
    await this.#subject.engine.settleDeliveries(results);
    return deliveries.length;
  }

  /** A claim without its delivery expires at the latest at the second look, and looks are a claim timeout apart. */
  async #loseDelivery(event: ModelEvent | null): Promise<void> {
    if (event?.type !== 'lose_delivery') return;
    this.#tell('lose the start delivery of', event.ids);
    await this.#subject.database.query(LOSE_DELIVERIES, [event.ids]);
    this.#apply(event);
    for (let look = 0; look < 2; look += 1) await this.#advance(CLAIM_TIMEOUT_MS + 100);
  }

  async #advance(ms: number): Promise<void> {
    this.#tell(`advance ${ms} ms`);
    await this.#subject.clock.advance(ms);
    await this.#sweep();
  }

  /** Lets everything run to completion: whatever the scenario did, no task may be stuck. */
  async #drain(): Promise<void> {
    const open = (): TaskId[] =>
      [...this.#model.tasks.values()].filter((task) => !isTerminal(task.state)).map((task) => task.definition.id);
    await this.#transition({ type: 'resume', ids: open() });
    for (let idle = 0; open().length > 0; idle += 1) {
      assert.ok(
        idle < 6,
        `stuck: ${open()
          .map((id) => `${id} ${this.#model.tasks.get(id)!.state}`)
          .join(', ')}`,
      );
      await this.#subject.clock.advance(4_000_000);
      await this.#sweep();
      const moved =
        (await this.#claim(this.#lanes, 500)) +
        (await this.#claimForDelivery(500)) +
        (await this.#deliver(500, ['delivered']));
      const held = [...this.#model.tasks.values()]
        .filter((task) => task.attempt_open)
        .map((task) => task.definition.id);
      const reports = held.map((task_id) => ({ task_id, attempt: null, outcome: 'succeeded' as const }));
      await this.#transition({ type: 'report', reports });
      if (moved > 0) idle = -1;
      await this.#agree();
    }
  }
}
