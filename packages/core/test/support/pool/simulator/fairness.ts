import type { NewRequest } from '../../../../src/pool/port/store.ts';
import type { Yard } from '../store/fixture.ts';

const ROUND_MS = 1_000;

/**
 * Every tenant always waits, some with twenty times as many requests as others, and few runners serve them.
 * Returns how many runners each tenant got.
 */
export async function shares(
  yard: Yard,
  options: { tenants: number; runners: number; rounds: number },
): Promise<number[]> {
  const { store } = yard;
  const runners: string[] = [];
  for (let made = 0; made < options.runners; made += 1) runners.push(await yard.arrive());
  const got = new Array<number>(options.tenants).fill(0);
  const open = new Map<string, number>();
  const ask = async (tenants: readonly number[]): Promise<void> => {
    const asked = tenants.map((tenant): NewRequest => yard.newRequest({ tenant: `tenant ${tenant}` }));
    asked.forEach(({ id }, at) => open.set(id, tenants[at]!));
    for (let at = 0; at < asked.length; at += 1_000) await store.ask(asked.slice(at, at + 1_000));
  };
  await ask(got.flatMap((_, tenant) => new Array<number>(1 + (tenant % 20)).fill(tenant)));
  await store.claimIdle(1_000);
  for (let round = 0; round < options.rounds; round += 1) {
    yard.pass(ROUND_MS);
    await yard.beat(...runners);
    const done = (await store.granted(1_000)).map(({ id }) => id);
    const tenants = done.map((id) => open.get(id)!);
    for (const tenant of tenants) got[tenant]! += 1;
    // A served tenant sends its next request before its runner is free, so that it never leaves the queue.
    await ask(tenants);
    await store.withdraw(done, 'done');
  }
  return got;
}

/** Jain's index: 1 for equal shares, 1/n if one tenant has everything. */
export function jain(values: readonly number[]): number {
  const sum = values.reduce((total, value) => total + value, 0);
  const squares = values.reduce((total, value) => total + value * value, 0);
  return (sum * sum) / (values.length * squares);
}
