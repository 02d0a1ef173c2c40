import { useCallback } from 'react';
import { useSearchParams } from 'wouter';

export type FilterValues<Name extends string> = Readonly<Record<Name, string>>;

/** Filters that are kept in the address, so that they survive a reload and can be sent to others. Empty: not set. */
export function useFilters<Name extends string>(
  names: readonly Name[],
): [FilterValues<Name>, (change: Partial<Record<Name, string>>) => void] {
  const [search, setSearch] = useSearchParams();
  const values = {} as Record<Name, string>;
  for (const name of names) values[name] = search.get(name) ?? '';
  const change = useCallback(
    (next: Partial<Record<Name, string>>): void => {
      setSearch(
        (before) => {
          const after = new URLSearchParams(before);
          for (const [name, value] of Object.entries<string | undefined>(next)) {
            if (value === undefined || value === '') after.delete(name);
            else after.set(name, value);
          }
          return after;
        },
        { replace: true },
      );
    },
    [setSearch],
  );
  return [values, change];
}

/** The query string of the filters that are set. */
export function queryOf(values: Readonly<Record<string, string | number | null | undefined>>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== '' && value !== null && value !== undefined) search.set(name, String(value));
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}
