import { Command } from 'commander';

import { NODE_MIN, VERSION } from '../app/package.ts';

/** The command line without a command. Its errors are thrown as CommanderError. */
export function createBareProgram(): Command {
  return (
    new Command('heddle')
      .description('Runs graphs of tasks on PostgreSQL: dependencies, rules, webhooks, a live page.')
      .version(VERSION)
      .showSuggestionAfterError()
      .exitOverride()
      // Thrown as well, and told where it is caught: `--json` wants it as a document.
      .configureOutput({ outputError: () => undefined })
      .addHelpText(
        'after',
        `\nNeeds Node ${NODE_MIN} or newer. Exit codes: 0 done, 1 failed, 2 not valid as given,\n` +
          '3 not found, 4 not reachable, 5 denied, 130 ended by Ctrl-C.',
      )
  );
}
