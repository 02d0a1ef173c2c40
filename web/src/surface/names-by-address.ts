import { createContext, useCallback, useContext } from 'react';
import { listModels } from '../api/models.ts';
import type { Model } from '@heddle/client';
import { usePolled } from '../live/use-polled.ts';
import { textOf, textsOf } from './model-data.ts';

const REFRESH_MS = 10_000;
const PAGE_SIZE = 100;
/** Maximum pages of names that are read; addresses may have further names. */
const PAGES_MAX = 10;

export type NamesByAddress = ReadonlyMap<string, readonly string[]>;

const NO_NAMES: NamesByAddress = new Map();

/** Names of addresses, from scans of names: those that resolve to an address, and those it resolves to. */
export const NamesContext = createContext<NamesByAddress>(NO_NAMES);

export function useNamesOf(address: string | null): readonly string[] {
  return useContext(NamesContext).get(address ?? '') ?? [];
}

/** Refreshes periodically while `wanted`. @param target empty for all targets */
export function useNamesByAddress(target: string, wanted: boolean): NamesByAddress {
  const read = useCallback(
    async (signal: AbortSignal) => {
      if (!wanted) return NO_NAMES;
      const names: Model[] = [];
      const query = { model: 'name', target, state: '', key: '', search: '' } as const;
      for (let page = 0, after: string | null = null; page < PAGES_MAX; page += 1) {
        const models: Model[] = await listModels(query, { after, size: PAGE_SIZE }, signal);
        names.push(...models);
        if (models.length < PAGE_SIZE) break;
        after = models.at(-1)!.id;
      }
      return namesByAddress(names);
    },
    [target, wanted],
  );
  return usePolled(read, REFRESH_MS).value ?? NO_NAMES;
}

/** Returns sorted names, without those that are gone or wildcards. */
function namesByAddress(models: readonly Pick<Model, 'state' | 'data'>[]): NamesByAddress {
  const found = new Map<string, Set<string>>();
  const add = (address: string, name: string): void => {
    found.set(address, (found.get(address) ?? new Set()).add(name));
  };
  for (const { state, data } of models) {
    const name = textOf(data, 'name');
    if (name === null || state === 'gone' || data['wildcard'] === true) continue;
    for (const address of [...textsOf(data, 'a'), ...textsOf(data, 'aaaa')]) add(address, name);
    for (const pointed of textsOf(data, 'ptr')) add(name, pointed);
  }
  return new Map([...found].map(([address, names]) => [address, [...names].sort()]));
}
