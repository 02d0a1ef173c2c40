import type { Command } from 'commander';

import { keepNewSpaceSmall } from '@heddle/base/new-space';
import { addSettingsOptions, collectModule, configurationOf, modulesOf, outputOf } from '../settings-options.ts';
import { tell } from './up.ts';

/** `heddle server`: runs on an existing database. */
export function registerServerCommand(program: Command): void {
  const command = program
    .command('server')
    .description('Run a server on the database of DATABASE_URL until Ctrl-C; any number of servers share the work')
    .option('--migrate', 'Migrate the database first (HEDDLE_MIGRATE)')
    .option('--module <file>', 'Run the kinds of this module; may be repeated (HEDDLE_MODULES)', collectModule);
  addSettingsOptions(command, ['port', 'host', 'hostUrl'])
    .addHelpText('after', HELP)
    .action(async (options: Parameters<typeof configurationOf>[0] & { migrate?: boolean; module?: string[] }) => {
      const migrate = options.migrate === true ? { HEDDLE_MIGRATE: '1' } : {};
      const set = { ...options.set, ...migrate, ...modulesOf(options) };
      const configuration = configurationOf({ ...options, set });
      const output = outputOf(options);
      keepNewSpaceSmall();
      const { runServer } = await import('../../app/server.ts');
      process.exitCode = await runServer({ configuration, tell: (event) => tell(output, event) });
    });
}

const HELP = `
Exit codes: 0 stopped by Ctrl-C or SIGTERM, 1 could not start, 2 invalid setting, 130 stopped by force.`;
