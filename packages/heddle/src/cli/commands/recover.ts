import type { Command } from 'commander';

import { addSettingsOptions, configurationOf, outputOf, type SettingsOptions } from '../settings-options.ts';

/** `heddle recover`: repairs a database that was restored to an earlier point in time. */
export function registerRecoverCommand(program: Command): void {
  const command = program
    .command('recover')
    .description('Requeue attempts that were open in a restored backup')
    .requiredOption('--before <time>', 'Requeue attempts opened before this time, such as 2030-01-31T12:00:00Z')
    .option('--check', 'Change nothing; print how many there are');
  addSettingsOptions(command)
    .addHelpText(
      'after',
      `
Each runs as the next attempt of its task; reports of the old attempt are rejected.
Exit codes: 0 success, 1 failed, 2 invalid option or setting.`,
    )
    .action(async (options: SettingsOptions & { before: string; check?: boolean }) => {
      const { recover } = await import('../../app/recovery.ts');
      const result = await recover(configurationOf(options), options.before, options.check === true);
      const output = outputOf(options);
      output.result(result, () =>
        output.line(`${result.attempts} attempts ${result.requeued ? 'requeued' : 'to requeue'}.`),
      );
    });
}
