import { shapeKeyOf, type Demand, type Requirements } from '@heddle/base/vocabulary/requirements';
import { derivedId } from '@heddle/base/derived-id';
import type { PoolContext } from './context.ts';
import type { ClassCensus, NewBatch } from './port/store.ts';

/** Namespace of the ids of launches that keep runners idle, which no request caused. */
export const WARM_NAMESPACE = '018bcfe5-6800-7000-8000-000000000001';

export interface Planned {
  readonly requirements: Requirements;
  readonly count: number;
  /** Namespace that ids are derived from. Processes that make the same plan derive the same ids, so it is made once. */
  readonly namespace: string;
  readonly key: string;
  /** Also part of the runners' ids, so that a different demand under the same key does not match existing runners. */
  readonly demand?: Demand;
  /** Created runners of the shape that the planner saw; null: any number. */
  readonly coming: number | null;
}

/** Splits a plan into launch batches; null if this pool does not have the class. */
export function batchesOf({ policy, provider }: PoolContext, planned: Planned): NewBatch[] | null {
  const { requirements, namespace, key, demand, coming } = planned;
  const resourceClass = policy.classes.find(({ name }) => name === requirements.resource_class);
  if (resourceClass === undefined) return null;
  const batches: NewBatch[] = [];
  for (let left = planned.count; left > 0; left -= policy.batch_max) {
    const id = derivedId(namespace, { key: `${key}/${batches.length}` });
    const size = Math.min(left, policy.batch_max);
    const runnerNamespace = demand === undefined ? id : derivedId(id, { key: `${demand.count} ${shapeKeyOf(demand)}` });
    batches.push({
      id,
      provider: provider.name,
      requirements,
      cpu: resourceClass.cpu,
      // A request for more memory than the minimum of the class needs an instance type that has it.
      memory_mib: Math.max(resourceClass.memory_mib, requirements.memory_mib ?? 0),
      runner_ids: Array.from({ length: size }, (_, ordinal) => derivedId(runnerNamespace, { ordinal })),
      ...(coming === null ? {} : { coming }),
    });
  }
  return batches;
}

/** Counts the runners that have not ended. */
export function aliveIn(census: readonly ClassCensus[]): number {
  return census.reduce((sum, { created, idle, claimed, running }) => sum + created + idle + claimed + running, 0);
}
