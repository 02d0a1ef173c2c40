import type { Command } from 'commander';

import { keepNewSpaceSmall } from '@heddle/base/new-space';
import {
  addSettingsOptions,
  configurationOf,
  outputOf,
  SERVER_KEYS,
  type SettingsOptions,
} from '../settings-options.ts';
import { printLifeEvent } from './up.ts';

/** `heddle server`: runs on an existing database. */
export function registerServerCommand(program: Command): void {
  const command = program
    .command('server')
    .description('Run a server on the database of DATABASE_URL until Ctrl-C; any number of servers share the work');
  addSettingsOptions(command, ['migrateAtStart', 'kindModules', ...SERVER_KEYS])
    .addHelpText('after', HELP)
    .action(async (options: SettingsOptions) => {
      const configuration = configurationOf(options);
      const output = outputOf(options);
      keepNewSpaceSmall();
      const { runServer } = await import('../../app/server.ts');
      process.exitCode = await runServer({ configuration, onEvent: (event) => printLifeEvent(output, event) });
    });
}

const HELP = `
Exit codes: 0 stopped by Ctrl-C or SIGTERM, 1 could not start, 2 invalid setting, 130 stopped by force.`;
