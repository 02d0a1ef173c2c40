import { faultOf, mismatchOf } from '../../domain/runner/classify.ts';
import type { Requirements } from '@heddle/base/vocabulary/requirements';
import type { ResourceClass } from '@heddle/base/vocabulary/resource-class';
import type { RunnerType } from '../../domain/runner/runner.ts';
import type { Clock } from '@heddle/base/clock';
import type { Exhaustion } from '../port/store.ts';
import type { KnownType, KnownTypes } from '../port/types.ts';

/** Returns the queue name for a class, usage class and instance type. */
export function shardOf(type: Pick<RunnerType, 'resource_class' | 'usage_class' | 'instance_type'>): string {
  return `pool:${type.resource_class}:${type.usage_class}:${type.instance_type.toLowerCase()}`;
}

export interface ShardsOptions {
  readonly types: KnownTypes;
  readonly classes: ReadonlyMap<string, ResourceClass>;
  readonly clock: Clock;
}

/** How long the list of types is used, milliseconds. It is read again if a request finds nothing. */
const FRESH_MS = 10_000;

/** The shards of a pool, and when each was last found empty. */
export class Shards {
  readonly #options: ShardsOptions;
  #known: readonly KnownType[] = [];
  #readAt = Number.NEGATIVE_INFINITY;
  /** Known shards only; monotonic time. */
  readonly #emptyAt = new Map<string, number>();

  constructor(options: ShardsOptions) {
    this.#options = options;
  }

  get isFresh(): boolean {
    return this.#options.clock.monotonic() - this.#readAt < FRESH_MS;
  }

  async refresh(): Promise<void> {
    this.#known = await this.#options.types.list();
    this.#readAt = this.#options.clock.monotonic();
    const shards = new Set(this.#known.map(shardOf));
    for (const shard of this.#emptyAt.keys()) if (!shards.has(shard)) this.#emptyAt.delete(shard);
  }

  /** Returns shards that may hold fitting runners, those that were found empty last. */
  matching(requirements: Requirements): string[] {
    const shards = new Set(this.#known.filter((type) => this.#fits(type, requirements)).map(shardOf));
    const emptyAt = (shard: string): number => this.#emptyAt.get(shard) ?? Number.NEGATIVE_INFINITY;
    return [...shards].sort((one, other) => compare(emptyAt(one), emptyAt(other)) || (one < other ? -1 : 1));
  }

  recordPoll(shard: string, found: number): void {
    if (found > 0) this.#emptyAt.delete(shard);
    else this.#emptyAt.set(shard, this.#options.clock.monotonic());
  }

  /** Returns why a request whose shards are all empty gets no runner, based on the last refresh. */
  exhaustionOf(requirements: Requirements, count: number): Exhaustion {
    const idle = this.#known.filter((type) => type.idle > 0 && type.resource_class === requirements.resource_class);
    if (idle.length === 0) return 'global';
    const fitting = idle.filter((type) => this.#fits(type, requirements));
    // Enough runners are idle, but their messages are held by another process, or lost and will be offered again.
    const isHidden = fitting.reduce((sum, type) => sum + type.idle, 0) >= count;
    return isHidden ? 'uncertain' : 'local';
  }

  #fits(type: RunnerType, requirements: Requirements): boolean {
    if (faultOf(type, this.#options.classes.get(type.resource_class)) !== null) return false;
    return mismatchOf(type, requirements) === null;
  }
}

/** Compares numbers that may be infinite. */
function compare(one: number, other: number): number {
  return one === other ? 0 : one < other ? -1 : 1;
}
