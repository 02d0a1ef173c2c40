import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import type { RemoteCode } from '../../src/protocol/codes.ts';
import { VirtualClock } from '@heddle/base/clock';
import { eventLoopTurn } from '@heddle/base/turn';
import { Fixture, OpenTier, type Payload, type Run } from '../support/manager/fixture.ts';
import { MemoryDisk } from '../support/manager/memory-disk.ts';

const CLIENTS = ['alice', 'bob'] as const;
const KEYS = ['a', 'b', 'c', 'd'] as const;
const EVENTS = { Echo: {}, Again: { idempotent: true } };

type Action =
  | { do: 'submit' | 'cancel' | 'poll' | 'ack' | 'foreign poll'; client: number; key: number }
  | { do: 'end'; run: number; how: 'success' | 'failure' | 'lost' }
  | { do: 'wait'; ms: number }
  | { do: 'crash'; cut: number };

const actions = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ do: fc.constant('submit' as const), client: fc.nat(1), key: fc.nat(3) }) },
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constantFrom('cancel' as const, 'poll' as const, 'ack' as const, 'foreign poll' as const),
        client: fc.nat(1),
        key: fc.nat(3),
      }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('end' as const),
        run: fc.nat(3),
        how: fc.constantFrom('success' as const, 'failure' as const, 'lost' as const),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(20, 5_000, 700_000) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('crash' as const), cut: fc.nat(400) }) },
  ),
  { minLength: 5, maxLength: 40 },
);

/** Invariants of one task, regardless of the executor's internals. */
interface ModelTask {
  readonly id: string;
  readonly client: string;
  /** Whether its run may be repeated. */
  readonly mayRepeat: boolean;
  runs: number;
  /** Ends of its runs, and thus its possible outcomes. */
  readonly possible: Set<RemoteCode | 'success'>;
  /** As reported to its client. */
  outcome: string | null;
  acknowledged: boolean;
  /** Earliest time at which it may have been removed. */
  forgottenAtMs: number;
}

class World {
  readonly clock = new VirtualClock();
  disk = new MemoryDisk();
  tier = new OpenTier();
  fixture!: Fixture;
  readonly tasks = new Map<string, ModelTask>();
  readonly byKey = new Map<string, ModelTask>();

  async start(): Promise<void> {
    this.tier = new OpenTier();
    this.tier.answer = ({ correlation_id }) => {
      const task = this.tasks.get(correlation_id);
      if (task !== undefined) task.runs += 1;
      else this.early.set(correlation_id, (this.early.get(correlation_id) ?? 0) + 1);
      return null;
    };
    const settings = { workerCount: 2, maxPendingTasks: 50 };
    this.fixture = await Fixture.open({
      files: this.disk,
      tier: this.tier,
      events: EVENTS,
      clock: this.clock,
      settings,
    });
    await this.settle();
  }

  /** Runs that began before their client got a response. */
  readonly early = new Map<string, number>();

  async settle(): Promise<void> {
    for (let turn = 0; turn < 12; turn += 1) await eventLoopTurn();
  }

  /** Kills the process; the last, unreported bytes may be missing. */
  async crash(cut: number): Promise<void> {
    // From here on only running tasks have a start in the journal.
    await this.clock.advance(60);
    await this.settle();
    this.disk.crash = { write: this.disk.writes + 1, bytes: cut };
    // A write at the time of death, whose response is lost.
    void this.fixture.submit({ dying: true }, { mode: 'async' }, { client: 'dying' });
    await this.settle();
    this.disk.die();
    void this.fixture.manager.close();
    for (const task of this.tasks.values()) {
      if (task.outcome === null && task.runs > 0) task.possible.add('WORKER_LOST');
    }
    this.disk = this.disk.afterDeath();
    await this.start();
  }

  submitted(client: string, key: string, mayRepeat: boolean, payload: Payload): void {
    const name = `${client} ${key}`;
    const before = this.byKey.get(name);
    const isAnother = before !== undefined && this.mayBeForgotten(before) && payload.correlation_id !== before.id;
    if (before !== undefined && this.clock.now() < before.forgottenAtMs && !isAnother) {
      if (before.acknowledged) assert.equal(payload.code, 'NOT_FOUND');
      else this.reported(before, payload);
      return;
    }
    const id = payload.correlation_id!;
    if (id === before?.id) {
      this.reported(before, payload);
      return;
    }
    const possible = new Set<RemoteCode | 'success'>();
    const runs = this.early.get(id) ?? 0;
    const task = { id, client, mayRepeat, runs, possible, outcome: null, acknowledged: false };
    this.tasks.set(id, { ...task, forgottenAtMs: Number.POSITIVE_INFINITY });
    this.byKey.set(name, this.tasks.get(id)!);
    this.reported(this.byKey.get(name)!, payload);
  }

  reported(task: ModelTask, payload: Payload): void {
    assert.equal(payload.correlation_id, task.id, 'one key, two tasks');
    if (payload.status === 'pending' || payload.status === 'running') {
      assert.equal(task.outcome, null, 'a completed task is pending again');
      return;
    }
    const text = JSON.stringify(payload);
    assert.equal(task.outcome ?? text, text, 'two outcomes');
    if (task.outcome === null) {
      const how = payload.code ?? 'success';
      assert.ok(task.possible.has(how), `ended by ${how}, of ${[...task.possible].join()}`);
      task.outcome = text;
      // The outcome may be older than its report.
      task.forgottenAtMs = 0;
    }
    task.forgottenAtMs = Math.max(task.forgottenAtMs, this.endedAt(payload) + 600_000);
  }

  endedAt(payload: Payload): number {
    const { completed_at, timestamp } = payload as Payload & { completed_at?: string; timestamp?: string };
    return Date.parse(completed_at ?? timestamp!);
  }

  end(run: Run, how: 'success' | 'failure' | 'lost'): void {
    const task = this.tasks.get(run.job.correlation_id);
    if (how === 'success') run.succeed({ run: task?.runs ?? 0 });
    else run.end({ status: 'error', code: how === 'lost' ? 'WORKER_LOST' : 'EXECUTION_FAILED', message: how });
    task?.possible.add(how === 'success' ? 'success' : how === 'lost' ? 'WORKER_LOST' : 'EXECUTION_FAILED');
  }

  async act(action: Action): Promise<void> {
    switch (action.do) {
      case 'crash':
        await this.crash(action.cut);
        return;
      case 'wait':
        await this.clock.advance(action.ms);
        return;
      case 'end': {
        const open = [...this.tier.open];
        if (open.length > 0) this.end(open[action.run % open.length]!, action.how);
        return;
      }
      case 'submit':
      case 'cancel':
      case 'poll':
      case 'ack':
      case 'foreign poll':
        await this.call(action.do, CLIENTS[action.client]!, KEYS[action.key]!);
    }
  }

  async call(what: 'submit' | 'cancel' | 'poll' | 'ack' | 'foreign poll', client: string, key: string): Promise<void> {
    const { fixture } = this;
    const mayRepeat = key === 'd';
    if (what === 'submit') {
      const request = { idempotency_key: key, mode: 'async', event_name: mayRepeat ? 'Again' : 'Echo' } as const;
      // Unique arguments per key, so that quarantines do not overlap.
      const payload = await fixture.submit({ key, client }, request, { client });
      if (payload.code === 'QUARANTINED') return;
      this.submitted(client, key, mayRepeat, payload);
      return;
    }
    const task = this.byKey.get(`${client} ${key}`);
    if (task === undefined) return;
    const { id: correlation_id } = task;
    const isGone = task.acknowledged || this.clock.now() >= task.forgottenAtMs;
    if (what === 'foreign poll') {
      assert.equal((await fixture.call('poll', { correlation_id }, { client: 'eve' })).code, 'NOT_FOUND');
    } else if (what === 'ack') {
      const { acknowledged = [] } = await fixture.call('ack', { correlation_ids: [correlation_id] }, { client });
      if (task.outcome !== null && !isGone) assert.deepEqual(acknowledged, [correlation_id]);
      if (acknowledged.length > 0) {
        assert.equal(task.acknowledged, false);
        task.acknowledged = true;
        task.forgottenAtMs = this.clock.now() + 120_000;
      }
    } else {
      if (what === 'cancel' && task.outcome === null) task.possible.add('CANCELED');
      const payload = await fixture.call(what, { correlation_id }, { client });
      if (payload.code === 'NOT_FOUND') assert.ok(isGone || this.mayBeForgotten(task), 'a task disappeared');
      else this.reported(task, payload);
    }
  }

  /** Its end was never reported and may have expired. */
  mayBeForgotten(task: ModelTask): boolean {
    return task.outcome === null && !task.acknowledged && this.wasLong;
  }

  wasLong = false;

  /** Runs everything to completion: each accepted task has one outcome, which its client gets. */
  async finish(): Promise<void> {
    for (let rounds = 0; this.tier.open.size > 0 || this.fixture.manager.health().queue_depth > 0; rounds += 1) {
      assert.ok(rounds < 100, 'tasks are stuck');
      for (const run of [...this.tier.open]) this.end(run, 'success');
      await this.settle();
    }
    for (const task of this.tasks.values()) {
      const { id: correlation_id, client } = task;
      if (!task.mayRepeat) assert.ok(task.runs <= 1, `ran ${task.runs} times`);
      if (task.acknowledged || this.clock.now() >= task.forgottenAtMs) continue;
      const payload = await this.fixture.call('poll', { correlation_id }, { client });
      if (payload.code === 'NOT_FOUND' && this.mayBeForgotten(task)) continue;
      this.reported(task, payload);
      assert.notEqual(task.outcome, null, 'a task has no outcome');
    }
    const { busy, queue_depth } = this.fixture.manager.health();
    assert.deepEqual([busy, queue_depth, this.fixture.events.held], [0, 0, 0]);
  }
}

test('in any order of actions: a key has one task, a task one outcome, and only its client gets it', async () => {
  await fc.assert(
    fc.asyncProperty(actions, async (given) => {
      const world = new World();
      await world.start();
      try {
        for (const action of given as Action[]) {
          if (action.do === 'wait' && action.ms > 600_000) world.wasLong = true;
          await world.act(action);
          await world.settle();
        }
        await world.finish();
      } finally {
        await world.fixture[Symbol.asyncDispose]();
      }
    }),
    { numRuns: 150 },
  );
});
