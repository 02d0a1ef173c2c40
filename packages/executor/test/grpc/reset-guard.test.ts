import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Http2Session, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { test } from 'node:test';

import type { Peer } from '../../src/grpc/peers.ts';
import { ResetGuard } from '../../src/grpc/reset-guard.ts';
import { VirtualClock } from '@heddle/base/clock';

class Connection extends EventEmitter {
  readonly remoteAddress: string;
  begun = false;
  destroyed = false;

  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

class Setup {
  readonly clock = new VirtualClock();
  readonly guard = new ResetGuard(64, this.clock);

  connect(address: string): Connection {
    const connection = new Connection(address);
    this.guard.admit(connection as unknown as Socket, () => (connection.begun = true));
    return connection;
  }

  /** Resets streams until the connection is cut, up to a maximum; returns the number of resets. */
  reset(connection: Connection, most: number, isProven = false): number {
    let resets = 0;
    while (resets < most && !connection.destroyed) {
      const stream = Object.assign(new EventEmitter(), { rstCode: 8 });
      const peer = { remoteAddress: connection.remoteAddress, isProven };
      this.guard.watch(
        stream as unknown as ServerHttp2Stream,
        connection as unknown as Http2Session,
        peer as unknown as Peer,
      );
      stream.emit('close');
      resets += 1;
    }
    return resets;
  }
}

test('a peer that reconnects after a cut is queued, and may reset only what was replenished', async () => {
  const setUp = new Setup();
  assert.equal(setUp.reset(setUp.connect('stranger'), 1_000), 65);
  assert.equal(setUp.reset(setUp.connect('stranger'), 1_000), 64);
  const again = Array.from({ length: 3 }, () => setUp.connect('stranger'));
  assert.deepEqual(
    again.map(({ begun }) => begun),
    [false, false, false],
  );
  assert.equal(setUp.connect('another').begun, true);
  for (const connection of again) {
    await setUp.clock.advance(100);
    assert.equal(connection.begun, true);
    assert.ok(setUp.reset(connection, 1_000) <= 2);
  }
});

test('queued connections are admitted in order, and closed ones are skipped', async () => {
  const setUp = new Setup();
  for (let round = 0; round < 3; round += 1) setUp.reset(setUp.connect('stranger'), 1_000);
  const [gone, honest] = [setUp.connect('stranger'), setUp.connect('stranger')];
  gone.destroy();
  await setUp.clock.advance(100);
  assert.deepEqual([gone.begun, honest.begun], [false, true]);
});

test('a quiet peer is admitted immediately again', async () => {
  const setUp = new Setup();
  for (let round = 0; round < 100; round += 1) setUp.reset(setUp.connect('stranger'), 1_000);
  await setUp.clock.advance(12_000);
  assert.equal(setUp.connect('stranger').begun, true);
});

test('resets of proven callers end only their own connection', () => {
  const setUp = new Setup();
  for (let round = 0; round < 10; round += 1) setUp.reset(setUp.connect('client'), 1_000, true);
  assert.equal(setUp.connect('client').begun, true);
});
