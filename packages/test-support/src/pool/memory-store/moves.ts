import type { RunnerRow, RequestRow, TypeRow } from './rows.ts';
import { byIdleTime, byTurn, compareText, isHeld, lackOf } from './rows.ts';
import type { MemoryTables } from './tables.ts';

/** Transitions that involve runners and requests: claims, arrivals and ends. */
export class MemoryMoves {
  readonly #tables: MemoryTables;

  constructor(tables: MemoryTables) {
    this.#tables = tables;
  }

  /** Returns why a runner cannot be claimed now; null if it can. */
  obstacleOf(row: RunnerRow | undefined): 'gone' | 'silent' | null {
    const { now, options } = this.#tables;
    if (row?.state !== 'idle' || row.draining || row.threshold <= now) return 'gone';
    return row.seen_at === null || row.seen_at <= now - options.times.heartbeat_max_age_ms ? 'silent' : null;
  }

  /** Returns why a runner cannot be claimed for a request now; null if it can. */
  obstacleFor(row: RunnerRow | undefined, request: RequestRow): 'gone' | 'silent' | 'barred' | null {
    const obstacle = this.obstacleOf(row);
    if (obstacle !== null) return obstacle;
    return row?.type && this.#isHeldBack(row.type, request) ? 'barred' : null;
  }

  /** Counts the runners of a type that can be claimed now. */
  claimable({ idle }: TypeRow): number {
    return idle.items.filter((row) => this.obstacleOf(row) === null).length;
  }

  /** Whether a request is waiting and has not expired. */
  isServable({ state, expires_at }: RequestRow): boolean {
    return state === 'waiting' && (expires_at === null || expires_at > this.#tables.now);
  }

  /** Picks as many idle runners as a request lacks, most recently used first; null if there are too few. */
  pick(request: RequestRow): RunnerRow[] | null {
    const types = [...request.shape.types].filter((type) => !this.#isHeldBack(type, request));
    const lack = lackOf(request);
    const heads = types.flatMap((type) => this.#newest(type, lack));
    if (heads.length < lack) return null;
    // The runners of a single type are already ordered, newest first.
    if (types.length > 1) heads.sort((one, other) => byIdleTime(other, one));
    return heads.slice(0, lack);
  }

  /** Claims runners for a request. */
  grant(request: RequestRow, runners: readonly RunnerRow[]): void {
    const { now, options } = this.#tables;
    this.#tables.settle(request, 'granted', null);
    this.#tables.grants += 1;
    request.capacityWait = null;
    options.onGrant?.(request);
    for (const row of runners) {
      this.#tables.move(row, 'claimed', request);
      row.epoch += 1;
      row.confirm_by = now + options.times.confirm_ms;
      row.threshold = now + options.times.claim_ms;
    }
  }

  /** Handles free runners: each ends if it is drained or used up, is granted to a waiting request, or becomes idle. */
  arrive(rows: readonly RunnerRow[]): void {
    const { now, options } = this.#tables;
    const free = rows.toSorted((one, other) => compareText(one.id, other.id));
    for (const row of free) {
      if (row.draining) this.#terminate(row, row.reason ?? 'drained');
      else if (options.max_uses !== null && row.uses >= options.max_uses) this.#terminate(row, 'used up');
      else if (row.type !== null) {
        row.threshold = now + options.times.idle_ms;
        this.#tables.move(row, 'idle', null);
      }
    }
    this.offer(free);
  }

  /** Offers idle runners to waiting requests. */
  offer(rows: readonly RunnerRow[]): void {
    for (const row of rows) if (row.state === 'idle') this.#handOver(row);
  }

  /** Ends live runners; returns how many requests wait again. */
  end(rows: readonly RunnerRow[], reason: string): number {
    const held = new Set(rows.flatMap((row) => (row.request !== null && isHeld(row.state) ? [row.request] : [])));
    const broken = [...held].filter((request) => !this.#hasStarted(request) || rows.includes(firstOf(request)));
    for (const row of rows) this.#terminate(row, reason);
    // A hold keeps its other runners while it waits for replacements.
    const mates = broken.flatMap(({ source, runners }) => (source === 'holder' ? [] : [...runners]));
    for (const request of broken) {
      if (request.source === 'holder') request.expires_at = null;
      else request.runners.clear();
      this.#tables.settle(request, ...this.#afterLoss(request, reason));
    }
    for (const request of held)
      // A running task is notified that it has fewer runners.
      if (!broken.includes(request)) for (const { id } of request.runners) this.#tables.options.notify?.(id);
    this.arrive(mates);
    return broken.filter(({ state }) => state === 'waiting').length;
  }

  /** Ends a request and frees its runners. */
  endRequest(request: RequestRow, reason: string | null): void {
    const runners = [...request.runners];
    this.#tables.settle(request, 'ended', reason);
    this.arrive(runners);
  }

  #terminate(row: RunnerRow, reason: string): void {
    row.reason = reason;
    this.#tables.move(row, 'terminated', null);
    row.threshold = this.#tables.now;
  }

  #handOver(row: RunnerRow): void {
    if (row.type === null || this.obstacleOf(row) !== null) return;
    const { shapes } = row.type;
    const singles = [...shapes].flatMap(
      ({ singles }) => singles.items.find((request) => this.isServable(request)) ?? [],
    );
    singles.sort(byTurn);
    const gangs = [...shapes].flatMap(({ gangs }) => gangs.items.filter((gang) => this.isServable(gang))).sort(byTurn);
    const [single] = singles;
    for (const gang of gangs) {
      if (this.#isHeldBack(row.type, gang)) return;
      if (single !== undefined && byTurn(single, gang) < 0) break;
      const runners = this.pick(gang);
      if (runners !== null) this.grant(gang, runners);
      else if (this.#isImpatient(gang)) return;
      if (row.request !== null) return;
    }
    if (single !== undefined && !this.#isHeldBack(row.type, single)) this.grant(single, [row]);
  }

  /**
   * Returns whether an earlier request must not be overtaken: a gang past its patience that wants runners of this type,
   * or a request that waits for capacity.
   */
  #isHeldBack(type: TypeRow, request: RequestRow): boolean {
    const overtaken = this.#overtaken();
    if (overtaken !== undefined && byTurn(overtaken, request) < 0) return true;
    for (const { gangs } of type.shapes) {
      for (const gang of gangs.items) {
        if (byTurn(gang, request) >= 0) break;
        if (this.isServable(gang) && this.#isImpatient(gang)) return true;
      }
    }
    return false;
  }

  /** Returns the first request that waits for capacity and was overtaken too often. */
  #overtaken(): RequestRow | undefined {
    const { waiting, grants, now } = this.#tables;
    return waiting.items.find(
      (request) =>
        request.capacityWait !== null &&
        (request.capacityWait.until ?? 0) > now &&
        request.capacityWait.from <= grants &&
        this.isServable(request),
    );
  }

  #isImpatient(gang: RequestRow): boolean {
    return gang.created_at <= this.#tables.now - this.#tables.options.times.reserve_after_ms;
  }

  #newest({ idle }: TypeRow, count: number): RunnerRow[] {
    const found: RunnerRow[] = [];
    for (let at = idle.size - 1; at >= 0 && found.length < count; at -= 1) {
      const row = idle.items[at]!;
      if (this.obstacleOf(row) === null) found.push(row);
    }
    return found;
  }

  /** A started attempt ends; a request whose attempt has not started waits again. */
  #afterLoss(request: RequestRow, reason: string): ['ended' | 'waiting', string | null] {
    return this.#hasStarted(request) ? ['ended', reason] : ['waiting', null];
  }

  #hasStarted(request: RequestRow): boolean {
    return request.source === 'task' && this.#tables.options.tasks?.hasStarted(request) === true;
  }
}

/** The runner that runs the task. */
export function firstOf(request: RequestRow): RunnerRow {
  return [...request.runners].reduce((first, row) => (row.number < first.number ? row : first));
}
