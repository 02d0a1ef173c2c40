import type { KindDescription } from '@heddle/base/vocabulary/kind';
import type { KindRow } from '../../store/kind-descriptions.ts';

/** A kind with its workers. */
export interface ListedKind extends KindRow {
  built_in: boolean;
}

/** The kinds of a database: what they do, their inputs, and who runs them. */
export interface KindDirectory {
  /** Returns kinds by name, at most `limit` after `after`. */
  list(page: { after: string; limit: number }): Promise<ListedKind[]>;
  get(name: string): Promise<ListedKind | null>;
  /** Stores what a process tells of its kinds, unless it is known. Those without a description or a schema are left out. */
  describe(kinds: readonly KindDescription[]): Promise<void>;
}
