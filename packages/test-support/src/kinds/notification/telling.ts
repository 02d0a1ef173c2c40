import type { JsonObject } from '@heddle/base/json';
import { notificationKinds } from 'heddle/internal/app/notification-kinds';
import { createNotices } from '@heddle/core/engine/notices/notices';
import type { Delivery } from '@heddle/core/engine/port';
import { defineKind, type KindDefinition } from '@heddle/kit';
import { silentLogger } from '@heddle/base/log';
import { newBench, type Bench } from '../../engine/fixture.ts';
import { ended, startKinds, submit, type Outcome } from '../recon/run-workflow.ts';

/** Ends as its input says: with `result`, or by failing with the message `fail`. */
export const work = defineKind({
  name: 'work',
  run: ({ result, fail }: JsonObject) => {
    if (typeof fail === 'string') throw new Error(fail);
    return result;
  },
});

export interface TellingBench extends Bench {
  kinds: KindDefinition[];
}

/** An engine with the notification kinds, and a kind that succeeds or fails. */
export async function newNotificationBench(
  ssrf: (url: string) => string | null = () => null,
  more: readonly KindDefinition[] = [],
): Promise<TellingBench> {
  const bench = await newBench();
  const notices = createNotices({ database: bench.database, log: silentLogger });
  return { ...bench, kinds: [work, ...notificationKinds({ notices, ssrf }), ...more] };
}

/** Runs a sequence to completion; its tasks tolerate any outcome of earlier ones. */
export async function runSequence(
  bench: TellingBench,
  children: readonly JsonObject[],
): Promise<Outcome & { id: string }> {
  const stopping = startKinds(bench.engine, bench.kinds);
  try {
    const nodes = children.map((child) => ({ policy: 'ContinueOnFailure', ...child }));
    const id = await submit(bench.engine, { mode: 'sequential', children: nodes });
    return { id, ...(await ended(bench.engine, id)) };
  } finally {
    await stopping.stop();
  }
}

const CLAIM = { holder: 'test', limit: 1000, limit_per_origin: 1000, saturated_origins: [], lease_ms: 60_000 };

export async function written({ engine }: Pick<Bench, 'engine'>): Promise<Delivery[]> {
  return (await engine.claimDeliveries(CLAIM)).sort((a, b) => a.ordinal - b.ordinal);
}

export function bodyOf(delivery: Delivery | undefined): JsonObject {
  if (delivery === undefined || !('params' in delivery.action)) throw new Error('there is no such webhook');
  return delivery.action.params.body as JsonObject;
}
