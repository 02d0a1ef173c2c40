import type { RunnerType } from '../../domain/runner/runner.ts';

/** A type that runners of this pool have, or had. */
export interface KnownType extends RunnerType {
  /** Runners of the type that are idle now. */
  readonly idle: number;
}

/** What the store knows of types: backends that keep runners apart by type learn from it where to look. */
export interface KnownTypes {
  list(): Promise<readonly KnownType[]>;
}
