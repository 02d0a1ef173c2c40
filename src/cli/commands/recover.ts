import type { Command } from 'commander';

import { addSettingsOptions, configurationOf, outputOf } from '../settings-options.ts';

/** `heddle recover`: what a database needs after it was restored to an earlier moment. */
export function registerRecoverCommand(program: Command): void {
  const command = program
    .command('recover')
    .description('after a restore: requeue attempts that were open in the backup')
    .requiredOption('--before <time>', 'requeue attempts opened before this time, such as 2030-01-31T12:00:00Z')
    .option('--check', 'change nothing; say how many there are');
  addSettingsOptions(command)
    .addHelpText(
      'after',
      `
Each runs as the next attempt of its task; reports of the old attempt are refused.
Exit codes: 0 done, 1 failed, 2 an option or setting is not valid.`,
    )
    .action(async (options: Parameters<typeof configurationOf>[0] & { before: string; check?: boolean }) => {
      const { recover } = await import('../../app/recovery.ts');
      const result = await recover(configurationOf(options), options.before, options.check === true);
      const output = outputOf(options);
      output.result(result, () =>
        output.line(`${result.attempts} attempts ${result.requeued ? 'were requeued' : 'would be requeued'}.`),
      );
    });
}
