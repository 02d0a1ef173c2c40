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
  /** Stores new descriptions and schemas of the kinds of a process; kinds that have neither are left out. */
  describe(kinds: readonly KindDescription[]): Promise<void>;
}
