import { Command } from 'commander';

import { NODE_MIN, VERSION } from '../app/package.ts';

/** Creates the command line without commands. Its errors are thrown as CommanderError. */
export function createBareProgram(): Command {
  return (
    new Command('heddle')
      .description(
        'Self-hosted task orchestrator on PostgreSQL: dependencies, workflows, jobs, webhooks, a live console',
      )
      .version(VERSION)
      .showSuggestionAfterError()
      .exitOverride()
      // Errors are also thrown and printed where they are caught: `--json` needs them as a document.
      .configureOutput({ outputError: () => undefined })
      .addHelpText(
        'after',
        `\nNeeds Node ${NODE_MIN} or newer. Exit codes: 0 success, 1 failed, 2 invalid input,\n` +
          '3 not found, 4 unreachable, 5 denied, 130 interrupted by Ctrl-C.',
      )
  );
}
