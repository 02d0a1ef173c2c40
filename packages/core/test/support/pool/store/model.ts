import type { Runner } from '../../../../src/domain/runner/runner.ts';
import type { ProviderInstance } from '../../../../src/pool/port/provider.ts';
import type { RunnerRequest } from '../../../../src/pool/port/store.ts';
import { PROVIDER, SECOND, type Yard } from './fixture.ts';

/** One step of a random history: the action, and numbers that choose its objects. */
export interface Step {
  readonly verb: Verb;
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

/** State of a history, the same for every store that it is played on. */
interface History {
  readonly yard: Yard;
  readonly runners: string[];
  readonly requests: string[];
  readonly batches: string[];
}

type Play = (history: History, step: Step) => Promise<unknown>;

const TYPES = ['a.large', 'b.large'] as const;
const PAUSES = [1, SECOND, 4 * SECOND, 11 * SECOND, 31 * SECOND, 61 * SECOND, 181 * SECOND, 301 * SECOND] as const;
const REASONS = ['drained', 'interrupted'] as const;

function at<Item>(items: readonly Item[], index: number): Item | undefined {
  return items.length === 0 ? undefined : items[index % items.length];
}

async function epochOf({ yard }: History, id: string | undefined, back: number): Promise<number> {
  const [runner] = id === undefined ? [] : await yard.store.list({ ids: [id] }, { offset: 0, limit: 1 });
  return (runner?.epoch ?? 0) - back;
}

function listed({ yard, runners }: History, mask: number): ProviderInstance[] {
  return runners.filter((_, index) => ((mask >> (index % 8)) & 1) === 0).map((id) => yard.instance(id));
}

async function forEach(runners: readonly string[], run: (id: string) => Promise<unknown>): Promise<unknown[]> {
  const results: unknown[] = [];
  for (const id of runners) results.push(await run(id));
  return results;
}

const VERBS = {
  ask: async ({ yard, requests }, { a, b, c }) => {
    const expires_at = c % 5 === 0 ? yard.now + PAUSES[c % PAUSES.length]! : null;
    const fields = { tenant: `tenant ${b % 3}`, count: a % 4 === 0 ? 2 : 1, expires_at };
    // One type each: if a request fits several, each store may choose differently.
    requests.push(await yard.ask({ ...fields, types: [TYPES[a % 2]!] }));
  },
  arrive: async ({ yard, runners }, { a }) => {
    runners.push(await yard.arrive({ type: TYPES[a % 2]! }));
  },
  launch: async ({ yard, runners }, { a }) => {
    runners.push(await yard.launch({ type: TYPES[a % 2]! }));
  },
  plan: async ({ yard, runners, batches }, { a, b }) => {
    const id = yard.newId();
    batches.push(id);
    runners.push(...(await yard.plan(1 + (b % 3), { id, types: [TYPES[a % 2]!] })));
  },
  take: ({ yard }, { a }) => yard.store.takeBatches(PROVIDER, 10, 30 * SECOND, { per_second: 1 + (a % 3), burst: 4 }),
  launched: async ({ yard, batches, runners }, { a, b, c }) => {
    const batch = at(batches, a);
    if (batch === undefined) return;
    const from = runners.findIndex((id) => id > batch);
    const named = runners.slice(from, from + 1 + (b % 3)).map((id) => yard.launchedAs(id, { type: TYPES[c % 2]! }));
    await yard.store.launched(batch, named, b % 2 === 0 ? null : 'there are no more');
  },
  launchFailed: async ({ yard, batches }, { a, b }) => {
    const batch = at(batches, a);
    const retryAt = b % 2 === 0 ? null : yard.now + 5 * SECOND;
    if (batch !== undefined) await yard.store.launchFailed(batch, 'too many calls', retryAt);
  },
  register: async ({ yard, runners }, { a }) => {
    const id = at(runners, a);
    return id === undefined ? null : yard.register(id);
  },
  heartbeat: async ({ yard, runners }, { a }) => {
    const id = at(runners, a);
    return id === undefined ? null : yard.store.heartbeat(id);
  },
  heartbeatAll: async ({ yard, runners }) => forEach(runners, (id) => yard.store.heartbeat(id)),
  claim: async ({ yard, runners, requests }, { a, b, c }) => {
    const request = at(requests, a);
    const named = [b, c].flatMap((index) => at(runners, index) ?? []);
    return request === undefined ? null : yard.store.claim(request, named);
  },
  confirm: async (history, { a, b }) => {
    const id = at(history.runners, a);
    const epoch = await epochOf(history, id, b % 4 === 0 ? 1 : 0);
    return id === undefined ? null : history.yard.store.confirm(id, epoch);
  },
  release: async (history, { a, b }) => {
    const id = at(history.runners, a);
    const epoch = await epochOf(history, id, b % 4 === 0 ? 1 : 0);
    return id === undefined ? null : history.yard.store.release(id, b % 5 === 0 ? null : epoch);
  },
  withdraw: async ({ yard, requests }, { a }) => {
    const id = at(requests, a);
    if (id !== undefined) await yard.store.withdraw([id], 'canceled');
  },
  exhausted: async ({ yard, requests }, { a }) => {
    const request_id = at(requests, a);
    if (request_id !== undefined) await yard.store.noteExhausted([{ request_id, exhaustion: 'local' }]);
  },
  drain: async ({ yard, runners }, { a, b }) => {
    const id = at(runners, a);
    return id === undefined ? null : yard.store.drain([id], REASONS[b % 2]!);
  },
  terminate: async ({ yard, runners }, { a, b }) => {
    const ids = [a, b].flatMap((index) => at(runners, index) ?? []);
    return ids.length === 0 ? null : yard.store.terminate([...new Set(ids)], 'terminated by a user');
  },
  sweep: ({ yard }, { a }) => {
    const keep = a % 3 === 0 ? [{ resource_class: 'large', usage_class: 'on-demand', count: 1 }] : [];
    return yard.store.sweep(1_000, keep);
  },
  reconcile: async (history, { a }) => {
    const found = await history.yard.store.reconcile(PROVIDER, listed(history, a));
    return { ...found, orphans: found.orphans.toSorted() };
  },
  unoffered: async ({ yard }, { a }) => {
    const found = await yard.store.unoffered(1_000, yard.now - PAUSES[a % PAUSES.length]!);
    return found.toSorted((one, other) => (one.id < other.id ? -1 : 1));
  },
  leaving: async ({ yard }, { a }) => {
    const found = (await yard.store.leaving(PROVIDER, 1_000)).toSorted((one, other) => (one.id < other.id ? -1 : 1));
    if (a % 2 === 0) await yard.store.gone(found.map(({ id }) => id));
    return found;
  },
  freeCapacity: async ({ yard, requests }, { a, b, c }) => {
    const id = at(requests, a);
    if (id === undefined) return null;
    const { shape_id } = await yard.request(id);
    const coming = (await yard.store.shortages()).find((shortage) => shortage.shape_id === shape_id)?.coming ?? 0;
    const limits = { max_runners: c % 6, overtakes: b % 3, lease_ms: 30 * SECOND };
    return yard.store.freeCapacity({ request_id: id, missing: 1 + (b % 2), coming, ...limits });
  },
  pass: ({ yard }, { a }) => {
    yard.pass(PAUSES[a % PAUSES.length]!);
    return Promise.resolve();
  },
} as const satisfies Record<string, Play>;

export type Verb = keyof typeof VERBS;
export const VERB_NAMES = Object.keys(VERBS) as Verb[];

/**
 * Plays a history on a store; returns the observable state after each step. It ends early if more than two runners of a
 * type became free at the same time, since the order in which a store takes them is undefined.
 */
export async function play(yard: Yard, steps: readonly Step[]): Promise<unknown[]> {
  const history: History = { yard, runners: [], requests: [], batches: [] };
  const seen: unknown[] = [];
  for (const step of steps) {
    const verb: Play = VERBS[step.verb];
    const answer = shown(await verb(history, step));
    // Matches waiting requests and idle runners at once, as a server does.
    const grants = shown(await yard.store.claimIdle(1_000));
    const alike = await aliveAlike(yard);
    if (alike.some((runners) => runners.length > 2)) break;
    seen.push({ step, answer, grants, ...(await lookAt(history)) });
    // No two runners stay idle since the same time.
    const second = alike.flatMap((runners) => runners.filter(({ state }) => state === 'idle').slice(1));
    if (second.length > 0) await yard.store.drain(second.map(({ id }) => id).sort(), 'one too many');
    yard.pass(1);
  }
  return seen;
}

/** Runners of one type that have been in their state since the same time. */
async function aliveAlike(yard: Yard): Promise<Runner[][]> {
  const live = (await yard.store.list({ ended: false }, { offset: 0, limit: 1_000 })).filter(
    ({ state }) => state === 'idle' || state === 'claimed',
  );
  const groups = Map.groupBy(live, ({ instance_type, state_since }) => `${instance_type} ${state_since}`);
  return [...groups.values()].map((runners) => runners.sort((one, other) => (one.id < other.id ? -1 : 1)));
}

async function lookAt({ yard, requests }: History): Promise<object> {
  const { store } = yard;
  const all = { offset: 0, limit: 1_000 };
  const runners = (await store.list({}, all)).map(shown);
  const waiting = (await store.waiting(1_000)).map(({ id }) => id);
  const granted = (await store.granted(1_000)).map(({ id }) => id).sort();
  const last = requests.at(-1);
  const request = last === undefined ? null : shown(await store.request(last));
  const shortages = (await store.shortages()).filter(({ wanted }) => wanted > 0).map(shown);
  shortages.sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
  const census = (await store.census()).filter(({ resource_class: _, usage_class: __, ...counts }) =>
    Object.values(counts).some((count) => count > 0),
  );
  return { runners, waiting, granted, request, shortages, census };
}

/** Omits numbers that a store assigns freely. */
function shown(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shown);
  if (typeof value !== 'object' || value === null) return value;
  const hidden = new Set<keyof Runner | keyof RunnerRequest>(['number', 'shape_id']);
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, part]: [string, unknown]) =>
      hidden.has(key as keyof Runner) ? [] : [[key, shown(part)]],
    ),
  );
}
