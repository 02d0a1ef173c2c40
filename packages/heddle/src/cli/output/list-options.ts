import type { Command } from 'commander';

import { wholeNumber } from './client-command.ts';

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

/** Converts the page options for the client. */
export function pageQuery({ page, pageSize }: PageOptions): { page?: number; page_size?: number } {
  return given({ page, page_size: pageSize });
}

/** Returns the members that were given. */
export function given<Members extends object>(members: Members): Given<Members> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Given<Members>;
}

type Given<Members> = { [Name in keyof Members]?: Exclude<Members[Name], undefined> };
