/**
 * Four loads on the three backends, in virtual time: the share of requests served by idle runners, the operations per
 * request, and the requests that found nothing although a fitting runner was idle. No runners are launched; requests
 * retry. The figures are equal on every machine. `node test/support/pool/simulator/cases.ts` prints them.
 */
import type { PoolBackend } from '../../../../src/pool/port/backend.ts';
import type { NewRequest, RunnerRequest } from '../../../../src/pool/port/store.ts';
import { PostgresBackend } from '../../../../src/pool/backends/postgres.ts';
import { SqsClassicBackend } from '../../../../src/pool/backends/sqs-classic.ts';
import { SqsShardedBackend } from '../../../../src/pool/backends/sqs-sharded.ts';
import { MemoryRunnerStore } from '@heddle/test-support/pool/memory-store/memory-store';
import { MemoryQueue } from '@heddle/test-support/queue/memory-queue';
import { VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { Dice } from './dice.ts';
import { POLICY } from './world.ts';

export interface LoadCase {
  readonly name: string;
  /** Idle runners by type. */
  readonly stock: readonly number[];
  /** The type that each request accepts. */
  readonly wanted: readonly number[];
  /** Requests per second; absent: all at once. */
  readonly rate?: number;
}

const EVEN = (count: number, types: number): number[] => Array.from({ length: count }, (_, at) => at % types);

export const LOAD_CASES: readonly LoadCase[] = [
  { name: '1,000 idle of 8 types, 800 at once', stock: new Array<number>(8).fill(125), wanted: EVEN(800, 8) },
  { name: '20,000 idle of 50 types, 4,000 at once', stock: new Array<number>(50).fill(400), wanted: EVEN(4_000, 50) },
  {
    name: '900 of 1,000 idle of an unrequested type, 80 at once',
    stock: [900, 100],
    wanted: new Array<number>(80).fill(1),
  },
  {
    name: '400 idle of 8 types, 50 a second for 20 s',
    stock: new Array<number>(8).fill(50),
    wanted: EVEN(1_000, 8),
    rate: 50,
  },
];

const VARIANTS = ['postgres', 'sqs-sharded', 'sqs-classic', 'sqs-classic, all requests at once'] as const;
export type Variant = (typeof VARIANTS)[number];

export interface LoadOutcome {
  /** Share of requests served by an idle runner. */
  readonly share: number;
  readonly operations: number;
  /** Requests that found nothing although a runner of the type was idle. */
  readonly missed: number;
  /** Median of the virtual milliseconds from request to grant. */
  readonly median_ms: number;
}

const CLASS = { name: 'small', cpu: 2, memory_mib: 4_096 };
const SECOND = 1_000;
const DAY_MS = 86_400_000;
const HOLD_MS = 2 * SECOND;
const TICK_MS = 100;
/** Duration of a call to a queue service, and of a statement. */
const CALL_MS = 10;
const STATEMENT_MS = 3;
/** An uncertain answer counts as none after this time. */
const UNCERTAIN_MS = 10 * SECOND;
const SET = 1_000;

/** One load on one backend. */
class LoadRun {
  readonly #load: LoadCase;
  readonly #clock = new VirtualClock();
  readonly #dice = new Dice(1);
  readonly #store: MemoryRunnerStore;
  readonly #backend: PoolBackend;
  readonly #typeOf = new Map<string, number>();
  /** Waiting requests, and held runners with their release times. */
  readonly #pending = new Map<string, RunnerRequest>();
  readonly #holds = new Map<string, number>();
  readonly #counted = new Map<number, number>();
  readonly #waits: number[] = [];
  #missed = 0;
  #serving: Promise<void> | null = null;

  constructor(load: LoadCase, variant: Variant) {
    this.#load = load;
    const clock = this.#clock;
    const times = {
      ...POLICY.times,
      idle_ms: DAY_MS,
      heartbeat_max_age_ms: DAY_MS,
      heartbeat_timeout_ms: DAY_MS,
      confirm_ms: DAY_MS,
    };
    this.#store = new MemoryRunnerStore({ times, classes: [CLASS], max_uses: null, now: () => clock.now() });
    this.#backend = this.#backendOf(variant);
  }

  async run(): Promise<LoadOutcome> {
    await this.#fill();
    const before = this.#backend.counts.operations;
    const { wanted, rate = Infinity } = this.#load;
    const perTick = Math.min(wanted.length, (rate * TICK_MS) / SECOND);
    for (
      let asked = 0, ticks = 0;
      asked < wanted.length || this.#pending.size > 0 || this.#serving !== null;
      ticks += 1
    ) {
      if (asked < wanted.length) await this.#ask(wanted.slice(asked, asked + perTick));
      asked += perTick;
      this.#serve();
      await this.#clock.advance(TICK_MS);
      await this.#letGo();
      if (ticks % 10 === 0) await this.#offer();
    }
    const { length } = this.#waits;
    return {
      share: length / wanted.length,
      operations: (this.#backend.counts.operations - before) / wanted.length,
      missed: this.#missed,
      median_ms: this.#waits.sort((one, other) => one - other)[Math.floor(length / 2)] ?? Number.NaN,
    };
  }

  #backendOf(variant: Variant): PoolBackend {
    const clock = this.#clock;
    const log = silentLogger;
    const store = slow(this.#store, clock, STATEMENT_MS, ['claim', 'claimIdle', 'census']);
    if (variant === 'postgres') return new PostgresBackend(store);
    const queue = slow(new MemoryQueue({ clock, maxReceives: 1e9 }), clock, CALL_MS, ['receive', 'send']);
    const options = { store, queue, classes: [CLASS], clock, log };
    if (variant === 'sqs-sharded') return new SqsShardedBackend({ ...options, types: this.#store.types });
    return new SqsClassicBackend(variant === 'sqs-classic' ? options : { ...options, policy: { width: 1e6 } });
  }

  async #fill(): Promise<void> {
    const { name, cpu, memory_mib } = CLASS;
    for (const [type, count] of this.#load.stock.entries()) {
      const id = this.#dice.uuid();
      const runner_ids = Array.from({ length: count }, () => this.#dice.uuid());
      const requirements = { ...KIND, resource_class: name, allowed_instance_types: [] };
      await this.#store.plan([{ id, provider: 'cloud', requirements, cpu, memory_mib, runner_ids }]);
      const instance_type = `t${type}.small`;
      const launched = runner_ids.map((runner_id) => ({
        runner_id,
        provider_id: runner_id,
        instance_type,
        cpu,
        memory_mib,
      }));
      await this.#store.launched(id, launched, null);
      for (const runner_id of shuffled(runner_ids, this.#dice)) {
        await this.#store.register({ runner_id, batch_id: null, provider_id: runner_id, address: null });
      }
    }
    await this.#during(this.#offerAll());
    await this.#clock.advance(10 * SECOND);
  }

  /** Types are mixed in the queues, as in practice. */
  async #offerAll(): Promise<void> {
    if (this.#backend.driver === 'postgres') return;
    const idle = await this.#store.unoffered(1e6, 0);
    const mixed = shuffled(idle, this.#dice);
    for (let at = 0; at < mixed.length; at += SET) await this.#backend.offer(mixed.slice(at, at + SET));
  }

  async #offer(): Promise<void> {
    if (this.#backend.driver === 'postgres') return;
    const idle = await this.#store.unoffered(SET, 0);
    if (idle.length > 0) await this.#during(this.#backend.offer(idle));
  }

  async #ask(types: readonly number[]): Promise<void> {
    const requests = types.map((type): NewRequest => {
      const id = this.#dice.uuid();
      this.#typeOf.set(id, type);
      const who = {
        id,
        tenant: 'acme',
        source: 'holder',
        run: 'acme',
        attempt: null,
        expires_at: null,
        count: 1,
      } as const;
      return { ...KIND, ...who, resource_class: CLASS.name, allowed_instance_types: [`t${type}.*`] };
    });
    await this.#store.ask(requests);
    for (const { id } of requests) this.#pending.set(id, (await this.#store.request(id))!);
  }

  /** Serves waiting requests, one set at a time. */
  #serve(): void {
    if (this.#serving !== null || this.#pending.size === 0) return;
    this.#serving = this.#serveSet([...this.#pending.values()]).finally(() => (this.#serving = null));
  }

  async #serveSet(requests: readonly RunnerRequest[]): Promise<void> {
    const served = await this.#backend.serve(requests);
    const now = this.#clock.now();
    for (const { request_id, exhaustion } of served) {
      const request = this.#pending.get(request_id);
      if (request === undefined) continue;
      const { state, granted_at } = (await this.#store.request(request_id))!;
      if (state === 'granted') {
        this.#waits.push(granted_at! - request.created_at);
        this.#holds.set(request_id, now + HOLD_MS);
      } else if (exhaustion === 'uncertain' && now - request.created_at < UNCERTAIN_MS) continue;
      else await this.#giveUp(request_id);
      this.#pending.delete(request_id);
    }
  }

  /** Counts a miss if an idle runner of the type existed. */
  async #giveUp(requestId: string): Promise<void> {
    const type = this.#typeOf.get(requestId)!;
    const known = await this.#store.types.list();
    const idle = known.find(({ instance_type }) => instance_type === `t${type}.small`)?.idle ?? 0;
    const counted = this.#counted.get(type) ?? 0;
    if (idle > counted) {
      this.#missed += 1;
      this.#counted.set(type, counted + 1);
    }
    await this.#store.withdraw([requestId], 'it found nothing');
  }

  async #letGo(): Promise<void> {
    if (this.#load.rate === undefined) return;
    const now = this.#clock.now();
    const done = [...this.#holds].flatMap(([id, until]) => (until <= now ? [id] : []));
    for (const id of done) this.#holds.delete(id);
    await this.#store.withdraw(done, 'done');
  }

  /** Advances the clock until done. */
  async #during(work: Promise<void>): Promise<void> {
    let isDone = false;
    const end = work.finally(() => (isDone = true));
    const hasEnded = (): boolean => isDone;
    while (!hasEnded()) await this.#clock.advance(TICK_MS);
    await end;
  }
}

const KIND = { usage_class: 'on-demand', cpu: null, memory_mib: null } as const;

/** Virtual durations of these methods. */
function slow<Target extends object>(
  target: Target,
  clock: VirtualClock,
  ms: number,
  methods: readonly string[],
): Target {
  return new Proxy(target, {
    get: (_, key): unknown => {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      const method = value as (...args: unknown[]) => unknown;
      if (!methods.includes(String(key))) return method.bind(target);
      return async (...args: unknown[]) => {
        await clock.sleep(ms);
        return await method.apply(target, args);
      };
    },
  });
}

function shuffled<Item>(items: readonly Item[], dice: Dice): Item[] {
  const mixed = [...items];
  for (let at = mixed.length - 1; at > 0; at -= 1) {
    const other = dice.between(0, at);
    [mixed[at], mixed[other]] = [mixed[other]!, mixed[at]!];
  }
  return mixed;
}

export function runLoad(load: LoadCase, variant: Variant): Promise<LoadOutcome> {
  return new LoadRun(load, variant).run();
}

async function print(): Promise<void> {
  console.log('| load | backend | served warm | operations a request | missed idle runner | median wait, ms |');
  console.log('| --- | --- | ---: | ---: | ---: | ---: |');
  for (const load of LOAD_CASES) {
    for (const variant of VARIANTS) {
      const { share, operations, missed, median_ms } = await runLoad(load, variant);
      const cells = [load.name, variant, `${(share * 100).toFixed(1)} %`, operations.toFixed(3), missed, median_ms];
      console.log(`| ${cells.join(' | ')} |`);
    }
  }
}

if (import.meta.main) await print();
