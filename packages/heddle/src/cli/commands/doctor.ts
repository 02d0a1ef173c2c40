import type { Command } from 'commander';

import { addSettingsOptions, flagsOf, outputOf, SERVER_KEYS, type SettingsOptions } from '../settings-options.ts';
import type { Output, Style } from '@heddle/base/terminal/output';
import type { Check } from '../../app/check.ts';

/** `heddle doctor`: checks this machine, the settings and the database. */
export function registerDoctorCommand(program: Command): void {
  const command = program.command('doctor').description('Check this machine, the settings and the database');
  addSettingsOptions(command, SERVER_KEYS)
    .addHelpText('after', '\nExit codes: 0 no check failed (there may be warnings), 1 a check failed.')
    .action(async (options: SettingsOptions) => {
      const { examine } = await import('../../app/doctor.ts');
      const checks = await examine(flagsOf(options));
      const failed = checks.some(({ status }) => status === 'fail');
      const output = outputOf(options);
      output.result({ ok: !failed, checks }, () => checks.forEach((check) => writeCheck(output, check)));
      process.exitCode = failed ? 1 : 0;
    });
}

const STYLES: Readonly<Record<Check['status'], Style>> = { ok: 'green', warn: 'yellow', fail: 'red' };

function writeCheck(output: Output, { name, status, message, remedy }: Check): void {
  output.line(`${output.paint(STYLES[status], status.padEnd(4))}  ${name}: ${message}`);
  if (remedy !== null) output.line(`      ${remedy}`);
}
