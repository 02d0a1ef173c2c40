import { useState } from 'react';

/** The visible part of a list, from the URL, and navigation in it. */
export function usePlace<Place>(
  read: (search: URLSearchParams) => Place,
  write: (place: Place) => void,
): [place: Place, go: (next: Place) => void] {
  const [place, setPlace] = useState(() => read(new URLSearchParams(location.search)));
  const go = (next: Place): void => {
    write(next);
    setPlace(next);
  };
  return [place, go];
}

export function pageIn(search: URLSearchParams): number {
  const page = Number(search.get('page') ?? 0);
  return Number.isInteger(page) && page > 0 ? page : 0;
}

/** Writes the URL of a list; omits null, empty values and the first page. */
export function writeAddress(path: string, values: Readonly<Record<string, string | number | boolean | null>>): void {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== '' && value !== 0) search.set(name, String(value));
  }
  history.replaceState(null, '', search.size > 0 ? `${path}?${search}` : path);
}
