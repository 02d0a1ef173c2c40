import { BUILT_IN_DESCRIPTIONS, BUILT_IN_KINDS } from '../../domain/built-in-kinds.ts';
import type { Database } from '../../store/database.ts';
import { describeKinds, getKind, listKinds } from '../../store/kind-descriptions.ts';
import { Kinds } from '../../store/kinds.ts';
import type { KindDirectory, ListedKind } from './port.ts';

/** Creates the directory of the kinds in a database. */
export function createKindDirectory({ database }: { database: Database }): KindDirectory {
  return {
    list: async (page) => (await listKinds(database, BUILT_IN_KINDS, page)).map(listed),
    get: async (name) => {
      const kind = await getKind(database, BUILT_IN_KINDS, name);
      return kind === null ? null : listed(kind);
    },
    describe: async (kinds) => {
      const known = kinds.filter(({ description, input_schema }) => description !== null || input_schema !== null);
      if (known.length === 0) return;
      await new Kinds(database).ids(known.map(({ name }) => name));
      await describeKinds(database, known);
    },
  };
}

/** A module may replace a built-in kind, and then describes it. */
function listed(kind: Omit<ListedKind, 'built_in'>): ListedKind {
  const own = Object.hasOwn(BUILT_IN_DESCRIPTIONS, kind.name) ? BUILT_IN_DESCRIPTIONS[kind.name]! : null;
  return { ...kind, built_in: own !== null, description: kind.description ?? own };
}
