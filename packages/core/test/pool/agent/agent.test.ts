import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { GrantedRunner, Orders } from '../../../src/pool/port/store.ts';
import { RunnerAgent, type AgentConnection, type RunnerAgentOptions } from '../../../src/pool/agent/agent.ts';
import { VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { newId } from '@heddle/base/random';

const ID = '018bcfe5-6800-7000-8000-00000000000a';
const REQUEST = '018bcfe5-6800-7000-8000-00000000000b';
const HEARTBEAT_MS = 5_000;

/** A connection that answers with preset orders and records calls. */
class FakeConnection implements AgentConnection {
  orders: Orders | null;
  readonly calls: string[] = [];
  down = false;
  /** While set, calls are executed and their answers are lost. */
  answersLost = false;
  confirms = true;
  /** Called at each heartbeat, before the answer. */
  onPulse: () => void = () => undefined;
  onDrain: () => void = () => undefined;
  /** Whether the runner is idle, so that a drain ends it at once. */
  isEndedByDrain = false;

  constructor(orders: Orders | null) {
    this.orders = orders;
  }

  register: AgentConnection['register'] = () => this.#answer('register', () => this.orders);
  heartbeat: AgentConnection['heartbeat'] = () =>
    this.#answer('heartbeat', () => {
      this.onPulse();
      return this.orders;
    });
  confirm: AgentConnection['confirm'] = (_id, epoch) =>
    this.#answer(`confirm ${epoch}`, () => {
      if (this.confirms) this.orders = { ...this.orders!, state: 'running' };
      return this.confirms;
    });
  release: AgentConnection['release'] = (_id, epoch) =>
    this.#answer(`release ${epoch}`, () => {
      if (epoch === this.orders?.epoch) this.orders = { ...this.orders, state: 'idle', request_id: null };
      return true;
    });
  drain: AgentConnection['drain'] = (_ids, reason) =>
    this.#answer(`drain ${reason}`, () => {
      this.orders = this.isEndedByDrain ? null : { ...this.orders!, draining: true };
      this.onDrain();
      return 1;
    });

  #answer<T>(name: string, act: () => T): Promise<T> {
    this.calls.push(name);
    if (this.down) return Promise.reject(new Error('connection refused'));
    const answer = act();
    return this.answersLost ? Promise.reject(new Error('connection lost')) : Promise.resolve(answer);
  }
}

function ordersOf(overrides: Partial<Orders> = {}): Orders {
  return {
    ...{ runner_id: ID, number: 7, state: 'idle', epoch: 0, request_id: null, task_id: null, ready: true, peers: [] },
    threshold: 1_700_000_300_000,
    draining: false,
    now: 1_700_000_000_000,
    ...overrides,
  };
}

function peerOf(number: number, id = newId()): GrantedRunner {
  return { id, number, epoch: 2, instance_type: 'a.large', address: null };
}

function claimed(epoch: number, overrides: Partial<Orders> = {}): Orders {
  return ordersOf({ state: 'claimed', epoch, request_id: REQUEST, ...overrides });
}

interface Scene {
  clock: VirtualClock;
  connection: FakeConnection;
  agent: RunnerAgent;
  /** Calls of the callbacks. */
  events: string[];
}

function sceneOf(orders: Orders | null = ordersOf(), more: Partial<RunnerAgentOptions> = {}): Scene {
  const clock = new VirtualClock();
  const connection = new FakeConnection(orders);
  const events: string[] = [];
  const agent = new RunnerAgent({
    connection,
    registration: { runner_id: ID, batch_id: null, provider_id: 'i-1', address: null },
    clock,
    log: silentLogger,
    heartbeat_ms: HEARTBEAT_MS,
    onClaimed: ({ epoch }) => void events.push(`claimed ${epoch}`),
    onRevoked: (epoch) => void events.push(`revoked ${epoch}`),
    onDraining: () => void events.push('draining'),
    onEnd: (reason) => void events.push(`end: ${reason}`),
    ...more,
  });
  agent.start();
  return { clock, connection, agent, events };
}

/** Runs passes that follow each other without advancing the clock. */
async function settled(clock: VirtualClock): Promise<void> {
  for (let round = 0; round < 10; round += 1) await clock.advance(0);
}

test('it registers once, then sends a heartbeat every five seconds', async () => {
  const { clock, connection, agent } = sceneOf();
  await settled(clock);
  assert.deepEqual(connection.calls, ['register']);
  await clock.advance(3 * HEARTBEAT_MS);
  assert.deepEqual(connection.calls, ['register', 'heartbeat', 'heartbeat', 'heartbeat']);
  await agent.stop();
});

test('a claim is confirmed once before its work starts, and released with its epoch', async () => {
  const { clock, connection, agent, events } = sceneOf();
  await settled(clock);
  connection.orders = claimed(1);
  agent.wake();
  await settled(clock);
  assert.deepEqual(connection.calls, ['register', 'heartbeat', 'confirm 1']);
  assert.deepEqual(events, ['claimed 1']);
  assert.equal(agent.working, 1);
  await clock.advance(2 * HEARTBEAT_MS);
  assert.deepEqual(events, ['claimed 1']);
  const finished = agent.finish(1);
  await settled(clock);
  await finished;
  assert.deepEqual(connection.calls.slice(-2), ['release 1', 'heartbeat']);
  assert.equal(agent.working, null);
  await agent.stop();
});

test('a claim granted at its release is confirmed at once', async () => {
  const { clock, connection, agent, events } = sceneOf(claimed(1));
  await settled(clock);
  connection.onPulse = () => {
    if (connection.orders?.state === 'idle') connection.orders = claimed(2);
  };
  void agent.finish(1);
  await settled(clock);
  assert.deepEqual(events, ['claimed 1', 'claimed 2']);
  assert.deepEqual(connection.calls.slice(-3), ['release 1', 'heartbeat', 'confirm 2']);
  await agent.stop();
});

test('a claim granted at registration starts without another heartbeat', async () => {
  const { clock, connection, agent, events } = sceneOf(claimed(4));
  await settled(clock);
  assert.deepEqual(connection.calls, ['register', 'confirm 4']);
  assert.deepEqual(events, ['claimed 4']);
  await agent.stop();
});

test('after a refused confirmation nothing starts, and newer orders are fetched at once', async () => {
  const { clock, connection, agent, events } = sceneOf(claimed(1));
  connection.confirms = false;
  connection.onPulse = () => {
    connection.orders = ordersOf({ epoch: 1 });
  };
  await settled(clock);
  assert.deepEqual(connection.calls, ['register', 'confirm 1', 'heartbeat']);
  assert.deepEqual(events, []);
  await agent.stop();
});

test('a confirmation that keeps being refused is not repeated without a pause', async () => {
  const { clock, connection, agent, events } = sceneOf(claimed(1));
  connection.confirms = false;
  await settled(clock);
  assert.deepEqual(connection.calls, ['register', 'confirm 1', 'heartbeat', 'confirm 1']);
  await clock.advance(2 * HEARTBEAT_MS);
  assert.equal(connection.calls.length, 8);
  assert.deepEqual(events, []);
  await agent.stop();
});

test('a confirmation whose answer was lost starts the work once', async () => {
  const { clock, connection, agent, events } = sceneOf();
  await settled(clock);
  connection.orders = claimed(1);
  const confirm = connection.confirm;
  connection.confirm = async (id, epoch) => {
    await confirm(id, epoch);
    throw new Error('connection lost');
  };
  agent.wake();
  await settled(clock);
  assert.deepEqual(events, []);
  await clock.advance(HEARTBEAT_MS);
  assert.deepEqual(events, ['claimed 1']);
  assert.equal(connection.calls.filter((name) => name === 'confirm 1').length, 1);
  await agent.stop();
});

test('a claim that was taken away during its work is revoked, and the next one starts', async () => {
  const { clock, connection, agent, events } = sceneOf(claimed(1));
  await settled(clock);
  connection.orders = claimed(3);
  await clock.advance(HEARTBEAT_MS);
  assert.deepEqual(events, ['claimed 1', 'revoked 1', 'claimed 3']);
  assert.equal(agent.working, 3);
  // Finishing the old claim does not affect the new one.
  await agent.finish(1);
  assert.ok(!connection.calls.includes('release 1'));
  connection.orders = ordersOf({ epoch: 3 });
  await clock.advance(HEARTBEAT_MS);
  assert.deepEqual(events.at(-1), 'revoked 3');
  assert.equal(agent.working, null);
  await agent.stop();
});

test('it survives a database outage and then sends pending reports', async () => {
  const { clock, connection, agent, events } = sceneOf(claimed(1));
  await settled(clock);
  connection.down = true;
  let isAcknowledged = false;
  const finished = agent.finish(1).then(() => (isAcknowledged = true));
  await clock.advance(12 * HEARTBEAT_MS);
  assert.equal(isAcknowledged, false);
  assert.equal(agent.working, 1);
  connection.down = false;
  await clock.advance(HEARTBEAT_MS);
  await finished;
  assert.equal(agent.working, null);
  assert.deepEqual(events, ['claimed 1']);
  await agent.stop();
});

test('a release whose answer was lost is repeated', async () => {
  const { clock, connection, agent } = sceneOf(claimed(1));
  await settled(clock);
  connection.answersLost = true;
  const finished = agent.finish(1);
  await settled(clock);
  connection.answersLost = false;
  await clock.advance(HEARTBEAT_MS);
  await finished;
  assert.equal(connection.calls.filter((name) => name === 'release 1').length, 2);
  await agent.stop();
});

test('a call that never answers times out', async () => {
  const { clock, connection, agent } = sceneOf();
  await settled(clock);
  const { heartbeat } = connection;
  connection.heartbeat = () => new Promise(() => undefined);
  await clock.advance(HEARTBEAT_MS + 10_000);
  connection.heartbeat = heartbeat;
  await clock.advance(HEARTBEAT_MS);
  assert.equal(connection.calls.at(-1), 'heartbeat');
  await agent.stop();
});

test('registration is repeated until it is acknowledged, and abandoned after a while', async () => {
  const heard = sceneOf();
  heard.connection.down = true;
  await heard.clock.advance(10 * HEARTBEAT_MS);
  heard.connection.down = false;
  await heard.clock.advance(HEARTBEAT_MS);
  assert.equal(heard.agent.orders?.runner_id, ID);
  await heard.agent.stop();

  const unheard = sceneOf(ordersOf(), { register_ms: 60_000 });
  unheard.connection.down = true;
  await unheard.clock.advance(55_000);
  assert.deepEqual(unheard.events, []);
  await unheard.clock.advance(HEARTBEAT_MS);
  assert.deepEqual(unheard.events, ['end: registration timed out']);
  const before = unheard.connection.calls.length;
  await unheard.clock.advance(10 * HEARTBEAT_MS);
  assert.equal(unheard.connection.calls.length, before);
});

test('it ends when its orders end, and makes no more calls', async () => {
  const { clock, connection, agent, events } = sceneOf();
  await settled(clock);
  connection.orders = null;
  await clock.advance(HEARTBEAT_MS);
  assert.deepEqual(events, ['end: the runner was ended']);
  const before = connection.calls.length;
  await clock.advance(10 * HEARTBEAT_MS);
  assert.equal(connection.calls.length, before);
  await agent.finish(1);
  await agent.drain('stopping');
});

test('a runner that is no longer expected ends at once', async () => {
  const { clock, events } = sceneOf(null);
  await settled(clock);
  assert.deepEqual(events, ['end: the runner is no longer expected']);
});

test('a claim is not confirmed before the work of the previous one has ended', async () => {
  let busy = true;
  const { clock, connection, agent, events } = sceneOf(claimed(2), { isBusy: () => busy });
  await settled(clock);
  await clock.advance(HEARTBEAT_MS);
  assert.deepEqual(events, []);
  assert.ok(!connection.calls.includes('confirm 2'));
  busy = false;
  agent.wake();
  await settled(clock);
  assert.deepEqual(events, ['claimed 2']);
  await agent.stop();
});

test('a gang starts only after all runners have confirmed, since one may still be doing earlier work', async () => {
  const peers = [peerOf(7, ID), peerOf(8)];
  const { clock, connection, agent, events } = sceneOf(claimed(2, { peers, ready: false }));
  await settled(clock);
  await clock.advance(2 * HEARTBEAT_MS);
  assert.equal(connection.calls.filter((name) => name === 'confirm 2').length, 1, 'it has confirmed, and waits');
  assert.deepEqual(events, []);
  connection.orders = { ...connection.orders!, ready: true };
  agent.wake();
  await settled(clock);
  assert.deepEqual(events, ['claimed 2']);
  await agent.stop();
});

test('each lost runner of a gang is reported once while the claim lasts', async () => {
  const peers = [peerOf(7, ID), peerOf(8), peerOf(9)];
  const lost: string[] = [];
  const { clock, connection, agent } = sceneOf(claimed(2, { peers }), {
    onPeersLost: (epoch, ones) => void lost.push(`${epoch}: ${ones.map(({ number }) => number).join()}`),
  });
  await settled(clock);
  connection.orders = { ...connection.orders!, peers: [peers[0]!, peers[2]!] };
  await clock.advance(2 * HEARTBEAT_MS);
  assert.deepEqual(lost, ['2: 8']);
  connection.orders = { ...connection.orders, peers: [peers[0]!] };
  await clock.advance(HEARTBEAT_MS);
  assert.deepEqual(lost, ['2: 8', '2: 9']);
  connection.orders = ordersOf({ epoch: 2 });
  await clock.advance(HEARTBEAT_MS);
  assert.equal(lost.length, 2, 'a finished claim loses no peers');
  await agent.stop();
});

test('without a server, it ends itself a minute after its threshold by the clock of the database', async () => {
  const threshold = 1_700_000_030_000;
  const { clock, connection, events } = sceneOf(ordersOf({ threshold }));
  connection.isEndedByDrain = true;
  connection.onPulse = () => void (connection.orders &&= { ...connection.orders, now: threshold + 59_999 });
  await clock.advance(4 * HEARTBEAT_MS);
  assert.deepEqual(events, []);
  connection.onPulse = () => void (connection.orders &&= { ...connection.orders, now: threshold + 60_000 });
  await clock.advance(HEARTBEAT_MS);
  await settled(clock);
  assert.deepEqual(connection.calls.slice(-3), ['heartbeat', 'drain idle too long', 'heartbeat']);
  assert.deepEqual(events, ['end: the runner was ended']);
});

test('a runner that is claimed just before it would end itself does the work first', async () => {
  const { clock, connection, agent, events } = sceneOf(ordersOf({ threshold: 0 }));
  connection.onDrain = () => (connection.orders = claimed(1, { draining: true }));
  await settled(clock);
  assert.deepEqual(events, ['draining', 'claimed 1']);
  await agent.stop();
});

test('without a database, it ends itself a minute after its threshold', async () => {
  const { clock, connection, agent, events } = sceneOf(ordersOf({ threshold: 1_700_000_030_000 }));
  await clock.advance(120_000);
  assert.deepEqual(events, []);
  connection.down = true;
  await clock.advance(HEARTBEAT_MS);
  assert.deepEqual(events, ['end: the deadline has passed and the pool is unreachable']);

  const early = sceneOf(ordersOf({ threshold: 1_700_000_030_000 }));
  await settled(early.clock);
  early.connection.down = true;
  await early.clock.advance(85_000);
  assert.deepEqual(early.events, []);
  await early.clock.advance(HEARTBEAT_MS);
  assert.deepEqual(early.events, ['end: the deadline has passed and the pool is unreachable']);
  await agent.stop();
});

test('running work without a deadline continues during any database outage', async () => {
  const { clock, connection, agent, events } = sceneOf(claimed(1, { threshold: Infinity }));
  await settled(clock);
  connection.down = true;
  await clock.advance(3_600_000);
  assert.deepEqual(events, ['claimed 1']);
  await agent.stop();
});

test('an interruption is reported, and the agent is notified once that it accepts no more claims', async () => {
  const { clock, connection, agent, events } = sceneOf(claimed(1));
  await settled(clock);
  connection.down = true;
  const drained = agent.drain('interrupted');
  await clock.advance(HEARTBEAT_MS);
  connection.down = false;
  await clock.advance(HEARTBEAT_MS);
  await drained;
  await clock.advance(3 * HEARTBEAT_MS);
  assert.deepEqual(events, ['claimed 1', 'draining']);
  assert.ok(connection.calls.includes('drain interrupted'));
  const finished = agent.finish(1);
  connection.onPulse = () => {
    connection.orders = null;
  };
  await settled(clock);
  await finished;
  assert.deepEqual(events.at(-1), 'end: the runner was ended');
});

test('an interruption before registration is reported with it', async () => {
  const { clock, connection, agent, events } = sceneOf();
  connection.down = true;
  await settled(clock);
  const drained = agent.drain('interrupted');
  connection.down = false;
  await clock.advance(HEARTBEAT_MS);
  await drained;
  assert.deepEqual(connection.calls.slice(connection.calls.lastIndexOf('register')).slice(0, 3), [
    'register',
    'drain interrupted',
    'heartbeat',
  ]);
  assert.deepEqual(events, ['draining']);
  await agent.stop();
});

test('after stop, it starts nothing more and no caller waits for it', async () => {
  const { clock, connection, agent, events } = sceneOf(claimed(1));
  await settled(clock);
  connection.down = true;
  const finished = agent.finish(1);
  await settled(clock);
  await agent.stop();
  await finished;
  connection.down = false;
  connection.orders = claimed(9);
  await clock.advance(10 * HEARTBEAT_MS);
  assert.deepEqual(events, ['claimed 1']);
});

test('a report made during a call is acknowledged by the next call, not by that one', async () => {
  const { clock, connection, agent } = sceneOf(claimed(1));
  await settled(clock);
  const gate = Promise.withResolvers<undefined>();
  const { drain } = connection;
  connection.drain = async (ids, reason) => {
    await gate.promise;
    return drain(ids, reason);
  };
  const drained = agent.drain('stopping');
  await settled(clock);
  let heard = false;
  const finished = agent.finish(1).then(() => (heard = true));
  gate.resolve(undefined);
  await drained;
  assert.equal(heard, false);
  assert.ok(!connection.calls.includes('release 1'));
  await settled(clock);
  await finished;
  assert.ok(connection.calls.includes('release 1'));
  await agent.stop();
});
