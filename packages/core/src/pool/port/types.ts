import type { RunnerType } from '../../domain/runner/runner.ts';

/** An instance type that runners of this pool have, or had. */
export interface KnownType extends RunnerType {
  /** Currently idle runners of the type. */
  readonly idle: number;
}

/** Lists the instance types in the store, for backends that have a queue per type. */
export interface KnownTypes {
  list(): Promise<readonly KnownType[]>;
}
