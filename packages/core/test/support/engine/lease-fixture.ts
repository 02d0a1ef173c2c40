import type { StartTaskMessage } from '../../../src/domain/message.ts';
import type { Rule } from '@heddle/base/vocabulary/task';
import type { ClaimedTask, Heartbeat } from '../../../src/engine/port.ts';
import { VirtualClock } from '@heddle/base/clock';
import type { Statement } from '../../../src/store/database.ts';
import { newBench, type Bench } from '@heddle/test-support/engine/fixture';

export const LEASE_MS = 30_000;

const SLOTS: Statement = { name: 'test.slots', text: `select coalesce(sum(used), 0)::integer as n from heddle.slot` };
const LEASES: Statement = {
  name: 'test.leases',
  text: `select count(*) as n, coalesce(sum(open), 0)::integer as open from heddle.lease`,
};

export interface LeaseBench extends Bench {
  clock: VirtualClock;
  /** Bodies by queue, as the engine sent them. */
  sent: Map<string, StartTaskMessage[]>;
}

export async function leaseBench(): Promise<LeaseBench> {
  const clock = new VirtualClock();
  const sent = new Map<string, StartTaskMessage[]>();
  const bench = await newBench({
    clock,
    queue: {
      sendIn: (_tx, queue, messages) => {
        const bodies = messages.map(({ body }) => JSON.parse(body) as StartTaskMessage);
        sent.set(queue, [...(sent.get(queue) ?? []), ...bodies]);
        return Promise.resolve();
      },
    },
  });
  return { ...bench, clock, sent };
}

export function beat(task: { id: string; attempt: number }, extra: Partial<Heartbeat> = {}): Heartbeat {
  return { task_id: task.id, attempt: task.attempt, new_success: 0, new_failures: 0, ...extra };
}

export function leased({ engine }: Bench, limit = 1_000, kind = 'work'): Promise<ClaimedTask[]> {
  return engine.claim({ lanes: [`kind:${kind}`], limit, holder: 'pull', lease_ms: LEASE_MS });
}

export function limitOf(kind: string, max: number, type: Rule['type'] = 'concurrency'): Rule {
  return { type, matcher: { kind, fields: [] }, max };
}

export async function usedSlots({ database }: Bench): Promise<number> {
  return (await database.query<{ n: number }>(SLOTS))[0]!.n;
}

export async function openLeases({ database }: Bench): Promise<{ n: number; open: number }> {
  return (await database.query<{ n: number; open: number }>(LEASES))[0]!;
}

/** Sweeps until nothing is found: one pass looks at a bounded number of leases. */
export async function sweepAll({ engine, clock }: LeaseBench): Promise<number> {
  let requeued = 0;
  for (let passes = 0; passes < 20; passes += 1) {
    const swept = await engine.sweep();
    requeued += swept.requeued;
    if (swept.requeued + swept.timed_out + swept.promoted === 0) break;
    await clock.advance(1);
  }
  return requeued;
}
