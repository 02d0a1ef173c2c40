import type { Command } from 'commander';

import { addSettingsOptions, configurationOf, outputOf, type SettingsOptions } from '../settings-options.ts';

/** `heddle migrate`: migrates a database to the schema of this code. */
export function registerMigrateCommand(program: Command): void {
  const command = program
    .command('migrate')
    .description('Migrate the database, which may be empty, to the schema of this version')
    .option('--check', 'Change nothing; exit 1 if a migration is needed');
  addSettingsOptions(command)
    .addHelpText('after', '\nExit codes: 0 up to date, 1 failed (or, with --check, not up to date), 2 invalid setting.')
    .action(async (options: SettingsOptions & { check?: boolean }) => {
      const configuration = configurationOf(options);
      const output = outputOf(options);
      const { migrateConfigured, migrationState } = await import('../../app/migration.ts');
      if (options.check === true) {
        const state = await migrationState(configuration);
        output.result(state, () => output.line(state.fault ?? `The database is at schema version ${state.version}.`));
        process.exitCode = state.fault === null ? 0 : 1;
        return;
      }
      const result = await migrateConfigured(configuration);
      output.result(
        { from: result.from, to: result.to, applied: result.applied, functions_replaced: result.functionsReplaced },
        () => {
          for (const name of result.applied) output.line(`applied ${name}`);
          output.line(`The database is at schema version ${result.to}.`);
        },
      );
    });
}
