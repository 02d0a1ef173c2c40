import type { Command } from 'commander';

import type { ListPage } from '@heddle/client';
import type { Output } from '@heddle/base/terminal/output';
import { parseId, wholeNumber } from './client-command.ts';

/** Page size of the server, where a list names none. */
const PAGE_SIZE = 50;

/** The page options of a list. */
export interface PageOptions {
  page?: number;
  pageSize?: number;
}

/** Adds the options for one page of a list. */
export function paged(command: Command, what: string): Command {
  return command
    .option('--page <number>', 'Page, from 0', wholeNumber(0, 100_000_000))
    .option('--page-size <number>', `${what} per page`, wholeNumber(1, 10_000));
}

/** Adds the options for one page of a list that grows with all that was ever stored. */
export function pagedByCursor(command: Command, what: string): Command {
  return paged(command, what).option('--after <id>', 'Continue after this one, instead of --page', parseId);
}

/** Reads on while the server examined much and found little, until a page is full. */
export async function fullPage<Item>(
  read: (after: string | undefined) => Promise<ListPage<Item>>,
  { pageSize = PAGE_SIZE, page = 0 }: PageOptions,
): Promise<ListPage<Item>> {
  const first = await read(undefined);
  const items = [...first.items];
  let { next } = first;
  while (page === 0 && next !== null && items.length < pageSize) {
    const following = await read(next);
    items.push(...following.items);
    next = following.next;
  }
  return { items, next };
}

/** Says how to go on, below a list. */
export function writeNext(output: Output, next: string | null): void {
  if (next !== null) output.line(`more with --after ${next}`);
}

/** Converts the page options for the client. */
export function pageQuery({ page, pageSize }: PageOptions): { page?: number; page_size?: number } {
  return given({ page, page_size: pageSize });
}

/** Returns the members that were given. */
export function given<Members extends object>(members: Members): Given<Members> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Given<Members>;
}

type Given<Members> = { [Name in keyof Members]?: Exclude<Members[Name], undefined> };
