import type { Command } from 'commander';

import { addSettingsOptions, configurationOf, outputOf } from '../settings-options.ts';
import type { ListedToken } from '../../app/tokens.ts';
import { writeTable } from '../output/table.ts';

type SettingsOptions = Parameters<typeof configurationOf>[0];

/** `heddle token`: works on the database itself, so it needs no token. */
export function registerTokenCommand(program: Command): void {
  const command = program
    .command('token')
    .description('make, list and revoke API tokens, on the database itself')
    .addHelpText('after', HELP);
  registerCreate(command);
  registerList(command);
  registerRevoke(command);
}

const HELP = `
Works on DATABASE_URL, else on the embedded database of the data directory, also while \`heddle up\` runs it.
Exit codes: 0 done, 1 failed, 2 an option or setting is not valid.`;

function registerCreate(token: Command): void {
  const command = token
    .command('create')
    .description('make a token; its text is shown once')
    .requiredOption('--name <name>', 'whom or what it is for')
    .option('--scope <scope...>', 'read, submit, work, operate (includes read and work) or admin (includes all)', [
      'operate',
      'submit',
    ])
    .option('--expires <time>', 'how long it lives (90d, 12h) or until when (2030-01-31); for ever by default');
  addSettingsOptions(command).action(
    async (options: SettingsOptions & { name: string; scope: string[]; expires?: string }) => {
      const { createToken } = await import('../../app/tokens.ts');
      const { name, scope: scopes, expires } = options;
      const made = await createToken(configurationOf(options), { name, scopes, expires });
      const output = outputOf(options);
      output.result(made, () => {
        output.line(made.token);
        output.notice(
          `Token ${JSON.stringify(made.name)} (${made.scopes.join(', ')}), ${made.id}: keep it, it is not shown again.`,
        );
      });
    },
  );
}

function registerList(token: Command): void {
  const command = token.command('list').description('list tokens, without their texts');
  addSettingsOptions(command).action(async (options: SettingsOptions) => {
    const { listTokens } = await import('../../app/tokens.ts');
    const tokens = await listTokens(configurationOf(options));
    const output = outputOf(options);
    output.result(tokens, () => {
      if (tokens.length === 0) output.line('There are no tokens.');
      else
        writeTable<ListedToken>(
          output,
          [
            { header: 'ID', value: ({ id }) => id },
            { header: 'NAME', value: ({ name }) => name, flexible: true },
            { header: 'SCOPES', value: ({ scopes }) => scopes.join(', ') },
            { header: 'STATE', value: ({ state }) => state },
            { header: 'EXPIRES', value: ({ expires_at }) => expires_at ?? 'never' },
            { header: 'LAST USED', value: ({ last_used_at }) => last_used_at ?? 'never' },
          ],
          tokens,
        );
    });
  });
}

function registerRevoke(token: Command): void {
  const command = token
    .command('revoke')
    .argument('<id-or-name>', 'its id, or its name where only one live token has it')
    .description('revoke a token; servers notice within seconds');
  addSettingsOptions(command).action(async (which: string, options: SettingsOptions) => {
    const { revokeToken } = await import('../../app/tokens.ts');
    const revoked = await revokeToken(configurationOf(options), which);
    const output = outputOf(options);
    output.result(revoked, () => output.line(`Revoked ${JSON.stringify(revoked.name)} (${revoked.id}).`));
  });
}
