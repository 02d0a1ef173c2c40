/** Verifies that whatever attackers do, a legitimate call waits only for a bounded amount of their work. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { Worker } from 'node:worker_threads';

import type { ClientTransport } from '../../src/client/port.ts';
import { Peer } from '../../src/grpc/peers.ts';
import type { Reply } from '../../src/manager/port.ts';
import type { Received } from '../../src/security/port.ts';
import { UnprovenMemory } from '../../src/unproven-memory.ts';
import { UnprovenQueue } from '../../src/unproven-queue.ts';
import { XmlRpcReader } from '../../src/xmlrpc/reader.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { eventually } from '@heddle/test-support/eventually';
import { opened, StandInManager, submit } from '../support/transports/stand-in-manager.ts';
import { STRANGER, type StrangerAttack, type StrangerWork } from '../support/transports/stranger-attack.ts';
import { quiet } from '../support/transports/suite.ts';
import { type Wire, WIRES } from '../support/transports/wires.ts';

const ATTACKS = JSON.parse(
  readFileSync(new URL('stranger-attacks.json', import.meta.url), 'utf8'),
) as readonly StrangerAttack[];

const NAMES = Object.keys(WIRES) as Wire[];

const CALLS = 15;
/** Work between two turns: what began with the last of one, and with the next. */
const WORK_PER_TURN_MAX = 2 * 16 + 4;
/** A legitimate call takes a few turns: to arrive, to be handled, and to be answered. */
const WORK_PER_CALL_MAX = 6 * 16;

/** Counts work for attackers: answered requests, and streams and document pieces that were begun. */
class Work extends StandInManager {
  count = 0;
  mostPerTurn = 0;
  #before = 0;
  #isOver = false;

  override handle(received: Received, onProgress?: (reply: Reply) => void): Promise<Reply> {
    if (received.remoteAddress === STRANGER) this.count += 1;
    return super.handle(received, onProgress);
  }

  watch(t: TestContext): void {
    const begin: (this: Peer) => void = Reflect.get(Peer.prototype, 'begin');
    t.mock.method(Peer.prototype, 'begin', function (this: Peer) {
      if (this.remoteAddress === STRANGER) work.count += 1;
      begin.call(this);
    });
    const write: (this: XmlRpcReader, chunk: Uint8Array) => void = Reflect.get(XmlRpcReader.prototype, 'write');
    t.mock.method(XmlRpcReader.prototype, 'write', function (this: XmlRpcReader, chunk: Uint8Array) {
      work.count += 1;
      write.call(this, chunk);
    });
    // eslint-disable-next-line @typescript-eslint/no-this-alias -- the mocks have their own `this`
    const work = this;
    const turn = (): void => {
      this.mostPerTurn = Math.max(this.mostPerTurn, this.count - this.#before);
      this.#before = this.count;
      if (!this.#isOver) setImmediate(turn);
    };
    turn();
    t.after(() => (this.#isOver = true));
  }
}

interface Measured {
  /** Work for attackers during each call. */
  readonly work: number[];
  readonly ms: number[];
}

async function measure(transport: ClientTransport, work: Work): Promise<Measured> {
  const measured: Measured = { work: [], ms: [] };
  for (let call = 0; call < CALLS; call += 1) {
    const request = submit('Echo', { call });
    const before = work.count;
    const startedAt = performance.now();
    assert.deepEqual(opened(await transport.call(request, quiet), request)['result'], { call });
    measured.ms.push(performance.now() - startedAt);
    measured.work.push(work.count - before);
  }
  return measured;
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]!;
}

for (const attack of ATTACKS) {
  test(`legitimate calls are served during: ${attack.name}`, async (t) => {
    const work = new Work();
    work.remembers = false;
    work.watch(t);
    const unproven = { memory: new UnprovenMemory(), turns: new UnprovenQueue() };
    const given = { manager: work, host: '127.0.0.1', port: 0, tls: null, clock: systemClock, log: silentLogger };
    const ports = {} as Record<Wire, number>;
    const honest = {} as Record<Wire, ClientTransport>;
    const alone = {} as Record<Wire, number>;
    const connected = (wire: Wire): ClientTransport => {
      const endpoint = { protocol: wire, host: '127.0.0.1', port: ports[wire], tls: false };
      const made = WIRES[wire][1](endpoint, null, { clock: systemClock });
      t.after(() => made.close());
      return made;
    };
    for (const wire of NAMES) {
      const listener = await WIRES[wire][0]({ ...given, unproven });
      t.after(() => listener.close(0));
      ports[wire] = listener.address.port;
      honest[wire] = connected(wire);
      await measure(honest[wire], work);
      alone[wire] = median((await measure(honest[wire], work)).ms);
    }
    const workerData: StrangerWork = { attack, port: ports[attack.wire] };
    const stranger = new Worker(new URL('../support/transports/stranger.ts', import.meta.url), { workerData });
    t.after(() => stranger.terminate());
    await new Promise((resolve, reject) => stranger.once('message', resolve).once('error', reject));
    if (attack.does === 'bad-macs') await eventually(() => work.count > 200, 'the attack to start');
    if (attack.does === 'unfinished') await eventually(() => unproven.memory.bytes > 0, 'the attack to start');
    work.mostPerTurn = 0;
    for (const wire of NAMES) {
      const { work: done, ms } = await measure(honest[wire], work);
      t.diagnostic(
        `${wire}: p50 ${(median(ms) / alone[wire]).toFixed(1)} times the undisturbed latency; work ${median(done)}`,
      );
      assert.ok(median(done) <= WORK_PER_CALL_MAX, `${wire}: ${done.join()} requests of attackers during each call`);
    }
    for (const wire of NAMES) {
      const request = submit('Echo', { newcomer: true });
      const answer = await connected(wire).call(request, quiet);
      assert.deepEqual(opened(answer, request)['result'], { newcomer: true });
    }
    assert.ok(work.mostPerTurn <= WORK_PER_TURN_MAX, `${work.mostPerTurn} requests of attackers in one turn`);
    assert.ok(unproven.memory.bytes <= unproven.memory.bytesMax);
  });
}
