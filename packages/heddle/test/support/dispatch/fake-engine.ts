import type { LogChunk } from '@heddle/base/vocabulary/task-log';
import type {
  ClaimAlong,
  ClaimedTask,
  ClaimRequest,
  Delivery,
  DeliveryClaimRequest,
  DeliveryResult,
  Engine,
  Heartbeat,
  HeartbeatResult,
  ProgressReport,
  Report,
} from '@heddle/core/engine/port';
import type { TaskDetail } from '@heddle/base/vocabulary/task';

/** A signal like those of the engine: callbacks that can be removed. */
class Signal {
  readonly #listeners = new Set<() => void>();

  on(wake: () => void): () => void {
    this.#listeners.add(wake);
    return () => void this.#listeners.delete(wake);
  }

  fire(): void {
    for (const wake of this.#listeners) wake();
  }

  get listeners(): number {
    return this.#listeners.size;
  }
}

type DeliverySide = Pick<
  Engine,
  'claimDeliveries' | 'renewDeliveries' | 'settleDeliveries' | 'onDeliveryDue' | 'claimForDelivery' | 'onReady'
>;

/** The outbox in memory as the loops see it, for tests of their own logic. */
export class FakeOutbox implements DeliverySide {
  readonly due: Delivery[] = [];
  readonly claims: DeliveryClaimRequest[] = [];
  readonly settled: DeliveryResult[][] = [];
  readonly dueSignal = new Signal();
  readonly readySignal = new Signal();
  /** Ready tasks that start by a webhook; claiming them makes their start deliveries due. */
  readonly ready: Delivery[] = [];
  readonly startClaims: number[] = [];
  /** A promise that settlements wait for. */
  settleGate: Promise<unknown> = Promise.resolve();
  failSettling: ((results: readonly DeliveryResult[]) => Error | null) | undefined;

  claimDeliveries(request: DeliveryClaimRequest): Promise<Delivery[]> {
    this.claims.push(request);
    const perOrigin = new Map<string, number>();
    const taken: Delivery[] = [];
    for (const delivery of [...this.due]) {
      const count = perOrigin.get(delivery.origin) ?? 0;
      if (taken.length >= request.limit) break;
      if (count >= request.limit_per_origin || request.saturated_origins.includes(delivery.origin)) continue;
      perOrigin.set(delivery.origin, count + 1);
      this.due.splice(this.due.indexOf(delivery), 1);
      taken.push(delivery);
    }
    return Promise.resolve(taken);
  }

  readonly renewals: { id: string; tries: number }[][] = [];

  renewDeliveries(tries: readonly { id: string; tries: number }[]): Promise<void> {
    this.renewals.push([...tries]);
    return Promise.resolve();
  }

  async settleDeliveries(results: readonly DeliveryResult[]): Promise<void> {
    const error = this.failSettling?.(results) ?? null;
    if (error !== null) throw error;
    await this.settleGate;
    this.settled.push([...results]);
  }

  claimForDelivery(_holder: string, limit: number): Promise<number> {
    this.startClaims.push(limit);
    const taken = this.ready.splice(0, limit);
    this.due.push(...taken);
    if (taken.length > 0) this.dueSignal.fire();
    return Promise.resolve(taken.length);
  }

  onDeliveryDue(wake: () => void): () => void {
    return this.dueSignal.on(wake);
  }

  onReady(_lanes: readonly string[], wake: () => void): () => void {
    return this.readySignal.on(wake);
  }

  get results(): DeliveryResult[] {
    return this.settled.flat();
  }
}

type WorkerSide = Pick<
  Engine,
  | 'claim'
  | 'report'
  | 'reportAndClaim'
  | 'progress'
  | 'getTask'
  | 'onReady'
  | 'offerToClaim'
  | 'release'
  | 'heartbeat'
  | 'appendLogs'
>;

/** Ready tasks in memory, claimed and reported like those of the engine. */
export class FakeTasks implements WorkerSide {
  readonly ready: ClaimedTask[] = [];
  readonly claims: ClaimRequest[] = [];
  readonly reports: Report[] = [];
  readonly reportSets: number[] = [];
  readonly counted: ProgressReport[] = [];
  readonly released: { task_id: string; attempt: number }[] = [];
  readonly readySignal = new Signal();
  readonly beats: (readonly Heartbeat[])[] = [];
  readonly offers = new Set<() => ClaimAlong | null>();
  readonly over = new Set<string>();
  readonly logged: LogChunk[] = [];
  #made = 0;
  claimsUnderWay = 0;
  claimsUnderWayMax = 0;
  /** Delay between a call and its response; the next tick of the event loop by default. */
  answered: (call: 'claim' | 'report') => Promise<void> = () => new Promise((resolve) => setImmediate(resolve));

  appendLogs(chunks: readonly LogChunk[]): Promise<void> {
    this.logged.push(...chunks);
    return Promise.resolve();
  }

  add(count: number, kind = 'noop', changes: Partial<ClaimedTask> = {}): void {
    for (let n = 0; n < count; n += 1) {
      this.ready.push({
        id: `task-${(this.#made += 1)}`,
        workflow_id: 'workflow',
        kind,
        name: 'task',
        attempt: 1,
        metadata: {},
        timeout_secs: 60,
        timeout_basis: 'activity',
        linked: false,
        container_id: null,
        local_id: null,
        ...changes,
      });
    }
    this.readySignal.fire();
  }

  async claim(request: ClaimRequest): Promise<ClaimedTask[]> {
    this.claims.push(request);
    this.claimsUnderWay += 1;
    this.claimsUnderWayMax = Math.max(this.claimsUnderWayMax, this.claimsUnderWay);
    const taken = this.ready.splice(0, request.limit);
    try {
      await this.answered('claim');
      return taken;
    } finally {
      this.claimsUnderWay -= 1;
    }
  }

  offerToClaim(_lanes: readonly string[], claimAlong: () => ClaimAlong | null): () => void {
    this.offers.add(claimAlong);
    return () => void this.offers.delete(claimAlong);
  }

  heartbeat(beats: readonly Heartbeat[]): Promise<HeartbeatResult[]> {
    this.beats.push(beats);
    return Promise.resolve(beats.map(({ task_id }) => (this.over.has(task_id) ? 'canceled' : 'applied')));
  }

  async reportAndClaim(
    reports: readonly Report[],
    request: ClaimRequest,
  ): Promise<{ outcomes: never[]; claimed: ClaimedTask[] }> {
    return { outcomes: await this.report(reports), claimed: await this.claim(request) };
  }

  async report(reports: readonly Report[]): Promise<never[]> {
    await this.answered('report');
    this.reportSets.push(reports.length);
    for (const report of reports) this.reports.push(report);
    return [];
  }

  release(tasks: readonly { task_id: string; attempt: number }[]): Promise<never[]> {
    this.released.push(...tasks);
    return Promise.resolve([]);
  }

  progress(reports: readonly ProgressReport[]): Promise<('applied' | 'terminal')[]> {
    this.counted.push(...reports);
    return Promise.resolve(reports.map(({ task_id }) => (this.over.has(task_id) ? 'terminal' : 'applied')));
  }

  getTask(id: string): Promise<TaskDetail | null> {
    const state = this.over.has(id) ? 'canceled' : 'running';
    return Promise.resolve({ id, state, attempt: 1 } as TaskDetail);
  }

  onReady(_lanes: readonly string[], wake: () => void): () => void {
    return this.readySignal.on(wake);
  }
}
