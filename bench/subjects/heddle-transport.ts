import { PostgresQueue } from '@heddle/core/internal/queue/postgres';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import type { Database } from '@heddle/core/store/database';
import type { TransportShape } from '../src/subject.ts';
import { carry, MESSAGE } from '../src/transport.ts';

const QUEUE = 'bench';
const VISIBILITY_MS = 60_000;

export async function carryByHeddle(database: Database, shape: TransportShape): Promise<number> {
  const queue = open(database);
  const elapsedMs = await carry(
    shape,
    (count) =>
      queue.send(
        QUEUE,
        Array.from({ length: count }, () => ({ body: MESSAGE })),
      ),
    async () => {
      const messages = await queue.receive(QUEUE, { max: shape.batch, wait_ms: 50, visibility_ms: VISIBILITY_MS });
      await queue.delete(
        QUEUE,
        messages.map(({ receipt }) => receipt),
      );
      return messages.length;
    },
  );
  await queue.close();
  return elapsedMs;
}

/** Milliseconds from sending one message to the waiting receiver. */
export async function heddleTransportLatency(database: Database, samples: number): Promise<number[]> {
  const queue = open(database);
  const latencies: number[] = [];
  while (latencies.length < samples) {
    const received = queue.receive(QUEUE, { max: 1, wait_ms: 10_000, visibility_ms: VISIBILITY_MS });
    // Long enough for the receiver to be waiting.
    await systemClock.sleep(5);
    const sentAt = performance.now();
    void queue.send(QUEUE, [{ body: MESSAGE }]);
    const [message] = await received;
    latencies.push(performance.now() - sentAt);
    await queue.delete(QUEUE, [message!.receipt]);
  }
  await queue.close();
  return latencies;
}

function open(database: Database): PostgresQueue {
  return new PostgresQueue({ database, clock: systemClock, log: silentLogger });
}
