import { shapeKeyOf, type Demand, type Requirements } from '../domain/runner/requirements.ts';
import { derivedId } from '../runtime/derived-id.ts';
import type { PoolContext } from './context.ts';
import type { ClassCensus, NewBatch } from './port/store.ts';

/** Maker of the ids of launches that nobody asked for. */
export const WARM_MAKER = '018bcfe5-6800-7000-8000-000000000001';

export interface Planned {
  readonly requirements: Requirements;
  readonly count: number;
  /** What the ids are derived from: the same for whoever plans the same, so that it is planned once. */
  readonly maker: string;
  readonly key: string;
  /** Whatever else its runners' ids are derived from: another demand under the same key finds none of its runners. */
  readonly demand?: Demand;
  /** Created runners of the shape that were seen; null: whatever there is. */
  readonly coming: number | null;
}

/** Batches of so many runners; null where the class is not one of this pool. */
export function batchesOf({ policy, provider }: PoolContext, planned: Planned): NewBatch[] | null {
  const { requirements, maker, key, demand, coming } = planned;
  const resourceClass = policy.classes.find(({ name }) => name === requirements.resource_class);
  if (resourceClass === undefined) return null;
  const batches: NewBatch[] = [];
  for (let left = planned.count; left > 0; left -= policy.batch_max) {
    const id = derivedId(maker, { key: `${key}/${batches.length}` });
    const size = Math.min(left, policy.batch_max);
    const runnerMaker = demand === undefined ? id : derivedId(id, { key: `${demand.count} ${shapeKeyOf(demand)}` });
    batches.push({
      id,
      provider: provider.name,
      requirements,
      cpu: resourceClass.cpu,
      // Whoever asks for more memory than the class has at least needs a type that has it.
      memory_mib: Math.max(resourceClass.memory_mib, requirements.memory_mib ?? 0),
      runner_ids: Array.from({ length: size }, (_, ordinal) => derivedId(runnerMaker, { ordinal })),
      ...(coming === null ? {} : { coming }),
    });
  }
  return batches;
}

/** Runners that have not ended. */
export function aliveIn(census: readonly ClassCensus[]): number {
  return census.reduce((sum, { created, idle, claimed, running }) => sum + created + idle + claimed + running, 0);
}
