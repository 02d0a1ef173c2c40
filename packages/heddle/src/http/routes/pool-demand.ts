import { parseDemand } from '@heddle/core/domain/runner/parse-requirements';
import type { Demand } from '@heddle/base/vocabulary/requirements';
import type { PoolOperations } from '@heddle/core/pool/pool-port';
import type { RequirementsDto } from '../wire/requirements.ts';
import { documented, type RouteDescription } from './document.ts';

/** Longest name of a resource class. */
export const CLASS_CHARS_MAX = 64;

export function describePool(route: Omit<RouteDescription, 'tag'>) {
  return documented({ ...route, tag: 'Pool' });
}

/**
 * Reads requirements for runners, validated against the classes of the pool.
 * @throws HeddleError VALIDATION_FAILED
 */
export function demandOf(pool: PoolOperations, requirements: RequirementsDto): Demand {
  return parseDemand(requirements, pool.classes());
}
