import type { Command } from 'commander';

import type { EffectiveSetting } from '../../app/config.ts';
import { SETTING_GROUPS } from '../../app/settings.ts';
import type { Output } from '@heddle/base/terminal/output';
import { writeTable } from '@heddle/base/terminal/table';
import {
  addSettingsOptions,
  configurationOf,
  outputOf,
  SERVER_KEYS,
  type SettingsOptions,
} from '../settings-options.ts';

/** `heddle config`: shows the effective settings and their sources. */
export function registerConfigCommand(program: Command): void {
  const command = program.command('config').description('Show every setting and the source of its value');
  addSettingsOptions(command, SERVER_KEYS)
    .option('--changed', 'Only settings changed from their default')
    .addHelpText('after', '\nSecrets are left out. Exit codes: 0 all settings are valid, 2 a setting is invalid.')
    .action((options: SettingsOptions & { changed?: boolean }) => {
      const { effective, file, unknownVariables } = configurationOf(options);
      const output = outputOf(options);
      const shown = effective.filter(({ source }) => options.changed !== true || source !== 'default');
      const settings = shown.map(({ name, value, source }) => ({ name, value, source }));
      output.result({ file, settings, unknown_variables: unknownVariables }, () => writeSettings(output, shown));
      if (!output.json && file !== null) output.line(`\nConfiguration file: ${file}`);
      for (const name of unknownVariables) output.notice(`${name} is set, but is not a setting`);
    });
  registerSigningKey(command);
}

function writeSettings(output: Output, settings: readonly EffectiveSetting[]): void {
  const columns = [
    { header: 'SETTING', value: ({ name }: EffectiveSetting) => name },
    { header: 'VALUE', value: ({ value }: EffectiveSetting) => value || '-', flexible: true },
    { header: 'FROM', value: ({ source }: EffectiveSetting) => source },
  ];
  let first = true;
  for (const [title, group] of Object.entries(SETTING_GROUPS)) {
    const rows = settings.filter(({ key }) => key in group);
    if (rows.length === 0) continue;
    output.line(`${first ? '' : '\n'}${output.paint('bold', title)}`);
    writeTable(output, columns, rows);
    first = false;
  }
}

/** `heddle config signing-key`: prints the keys that receivers use to verify webhooks. */
function registerSigningKey(config: Command): void {
  const command = config
    .command('signing-key')
    .description('Print the webhook signing keys for receivers, the current one first')
    .option('--rotate', 'Create a new key first')
    .option('--overlap <time>', 'How long the older keys sign together with the new one', '24h');
  addSettingsOptions(command).action(async (own: { overlap: string }, self: Command) => {
    const options = self.optsWithGlobals<SettingsOptions & { rotate?: boolean }>();
    const configuration = configurationOf(options);
    const { rotateSigningKey, webhookSigningKeys } = await import('../../app/tokens.ts');
    const rotated = options.rotate === true;
    const keys = rotated ? await rotateSigningKey(configuration, own.overlap) : await webhookSigningKeys(configuration);
    const output = outputOf(options);
    output.result({ signing_keys: keys }, () => keys.forEach((key) => output.line(key)));
  });
}
