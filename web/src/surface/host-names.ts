import type { Model } from '@heddle/client';
import { createContext, useContext } from 'react';
import { readModels } from '../api/models.ts';
import { useLive } from '../data/live.ts';
import { textOf, textsOf } from './model-data.ts';

/** Names are searched in all of a target. */
const REFRESH_MS = 10_000;

type NamesByAddress = ReadonlyMap<string, readonly string[]>;

const NO_NAMES: NamesByAddress = new Map();

/** Names of addresses, from scans of names: those that resolve to an address, and those it resolves to. */
export const NamesContext = createContext<NamesByAddress>(NO_NAMES);

export function useNamesOf(address: string | null): readonly string[] {
  return useContext(NamesContext).get(address ?? '') ?? [];
}

/** @param target empty for all targets */
export function useNamesByAddress(target: string, isWanted: boolean): NamesByAddress {
  const { data } = useLive(['models', 'names', target], (signal) => readModels({ model: 'name', target }, signal), {
    every: REFRESH_MS,
    enabled: isWanted,
  });
  return data === undefined ? NO_NAMES : namesByAddress(data);
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
