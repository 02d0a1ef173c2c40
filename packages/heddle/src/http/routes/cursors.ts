import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';

import { HeddleError } from '@heddle/base/errors';
import type { HttpConfig } from '../ports.ts';
import { Uuid } from '../wire/basics.ts';
import { pageOf, pageProperties } from './parameters.ts';

/** Items that `page` may skip, since skipping an item costs as much as reading it. */
const SKIPPED_MAX = 100_000;

/** The pages of a list that grows with everything ever stored: by number up to a bound, else by cursor. */
export function cursorProperties(pagination: HttpConfig['pagination']) {
  return {
    ...pageProperties(pagination),
    after: Type.Optional(Uuid('Continues after this id, instead of `page`; the `Link` of the page before has it.')),
  };
}

export const cursorHeaders = {
  link: 'The next page, `<?…&after=…>; rel="next"`, if there may be one.',
};

interface CursorQuery {
  page?: number;
  page_size?: number;
  after?: string;
}

/** Where a page begins, and how long it is. */
interface Place {
  offset: number;
  limit: number;
  after?: string;
}

interface ListPage<Item> {
  items: Item[];
  /** Id after which the next page begins; null if there are no more. */
  next: string | null;
}

/**
 * Answers with one page of a list.
 *
 * @throws HeddleError INVALID_QUERY if a page number is too high for a list that reaches so far, or comes with a cursor
 */
export async function answerPage<Item>(
  reply: FastifyReply,
  query: CursorQuery,
  pagination: HttpConfig['pagination'],
  read: (place: Place) => Promise<ListPage<Item>>,
): Promise<Item[]> {
  const { page = 0, after } = query;
  if (page > 0 && after !== undefined) throw invalidPage('cannot be combined with after; use one of them');
  const { offset, limit } = pageOf(query, pagination);
  const place = { limit, ...(after === undefined ? {} : { after: after.toLowerCase() }) };
  if (offset <= SKIPPED_MAX) {
    const { items, next } = await read({ offset, ...place });
    if (next !== null) linkNext(reply, query, next);
    return items;
  }
  const beyond = await read({ offset: SKIPPED_MAX, ...place, limit: 1 });
  if (beyond.items.length === 0 && beyond.next === null) return [];
  const remedy = 'narrow the list by filters, or follow the Link header of each page, which has after';
  throw invalidPage(`at most ${SKIPPED_MAX.toLocaleString('en-US')} items can be skipped; ${remedy}`);
}

function invalidPage(what: string): HeddleError {
  return new HeddleError('INVALID_QUERY', undefined, { details: [`page: ${what}`] });
}

/** Sets the header with the address of the next page, relative to the one that was asked for (RFC 8288). */
function linkNext(reply: FastifyReply, query: CursorQuery, next: string): void {
  // Beside these parameters a query has its filters, which the schema of the route has checked.
  const { page: _page, ...given } = { ...query, after: next } as Readonly<Record<string, string | number | boolean>>;
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(given)) parameters.set(name, String(value));
  void reply.header('link', `<?${parameters.toString()}>; rel="next"`);
}
