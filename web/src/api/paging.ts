import { queryOf } from '../data/filters.ts';
import type { ListPart } from '../data/live.ts';
import { getJson } from './client.ts';

type Filters = Readonly<Record<string, string | undefined>>;

const PAGE_SIZE = 50;

/** Reads the page with that number, the first if null; a page that is not full is the last. */
export async function pageByNumber<Row>(
  path: string,
  filters: Filters,
  page: string | null,
  signal: AbortSignal,
): Promise<ListPart<Row>> {
  const number = Number(page ?? 0);
  const rows = await getJson<Row[]>(`${path}${queryOf({ ...filters, page: number, page_size: PAGE_SIZE })}`, signal);
  return { rows, next: rows.length < PAGE_SIZE ? null : String(number + 1) };
}

/** Reads the page after the row with that id, the first if null; a page that is not full is the last. */
export async function pageAfter<Row extends { id: string }>(
  path: string,
  filters: Filters,
  after: string | null,
  signal: AbortSignal,
): Promise<ListPart<Row>> {
  const rows = await getJson<Row[]>(`${path}${queryOf({ ...filters, after, page_size: PAGE_SIZE })}`, signal);
  return { rows, next: rows.length < PAGE_SIZE ? null : (rows.at(-1)?.id ?? null) };
}
