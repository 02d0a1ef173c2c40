import type { Command } from 'commander';

import { wholeNumber } from './client-command.ts';

/** The page of a list, as the command line has it. */
export interface PageOptions {
  page?: number;
  pageSize?: number;
}

/** Adds what asks for one page of a list. */
export function paged(command: Command, what: string): Command {
  return command
    .option('--page <number>', 'page, from 0', wholeNumber(0, 100_000_000))
    .option('--page-size <number>', `${what} a page`, wholeNumber(1, 10_000));
}

/** The same page as the client takes it. */
export function pageQuery({ page, pageSize }: PageOptions): { page?: number; page_size?: number } {
  return given({ page, page_size: pageSize });
}

/** Those members that were given. */
export function given<Members extends object>(members: Members): Given<Members> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Given<Members>;
}

type Given<Members> = { [Name in keyof Members]?: Exclude<Members[Name], undefined> };
