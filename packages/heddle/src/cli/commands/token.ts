import type { Command } from 'commander';

import { addSettingsOptions, collect, configurationOf, outputOf, type SettingsOptions } from '../settings-options.ts';
import type { Token } from '@heddle/client';
import { writeTable } from '@heddle/base/terminal/table';

/** `heddle token`: works on the database directly, so it needs no token. */
export function registerTokenCommand(program: Command): void {
  const command = program
    .command('token')
    .description('Create, list and revoke API tokens, directly in the database')
    .addHelpText('after', HELP);
  registerCreate(command);
  registerList(command);
  registerRevoke(command);
}

const HELP = `
Uses DATABASE_URL, else the embedded database of the data directory, even while \`heddle up\` runs it.
Exit codes: 0 success, 1 failed, 2 invalid option or setting.`;

function registerCreate(token: Command): void {
  const command = token
    .command('create')
    .description('Create a token, which is shown once')
    .requiredOption('--name <name>', 'Name of the token')
    .option(
      '--scope <scope...>',
      'read, submit, work, operate (includes read and work), command (to submit commands), runner (to register runners) or admin (includes all)',
      ['operate', 'submit'],
    )
    .option('--kind <name>', 'Kind whose tasks it may claim; may be repeated (default any)', collect)
    .option('--class <name>', 'Class of runners that it may register; may be repeated (default any)', collect)
    .option('--expires <time>', 'Lifetime (90d, 12h) or expiry date (2030-01-31) (default never)');
  addSettingsOptions(command).action(
    async (
      options: SettingsOptions & { name: string; scope: string[]; kind?: string[]; class?: string[]; expires?: string },
    ) => {
      const { createToken } = await import('../../app/tokens.ts');
      const { name, scope: scopes, kind: kinds = null, class: classes = null, expires } = options;
      const made = await createToken(configurationOf(options), { name, scopes, kinds, classes, expires });
      const output = outputOf(options);
      output.result(made, () => {
        output.line(made.token);
        output.notice(
          `Token ${JSON.stringify(made.name)} (${made.scopes.join(', ')}), ${made.id}: save it now, it is not shown again.`,
        );
      });
    },
  );
}

function registerList(token: Command): void {
  const command = token.command('list').description('List tokens, without their secrets');
  addSettingsOptions(command).action(async (options: SettingsOptions) => {
    const { listTokens } = await import('../../app/tokens.ts');
    const tokens = await listTokens(configurationOf(options));
    const output = outputOf(options);
    output.result(tokens, () => {
      if (tokens.length === 0) output.line('No tokens.');
      else
        writeTable<Token>(
          output,
          [
            { header: 'ID', value: ({ id }) => id },
            { header: 'NAME', value: ({ name }) => name, flexible: true },
            { header: 'SCOPES', value: ({ scopes }) => scopes.join(', ') },
            { header: 'KINDS', value: ({ kinds }) => kinds?.join(', ') ?? 'any', flexible: true },
            { header: 'CLASSES', value: ({ classes }) => classes?.join(', ') ?? 'any', flexible: true },
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
    .argument('<id-or-name>', 'ID of the token, or its name if only one live token has it')
    .description('Revoke a token; servers apply it within seconds');
  addSettingsOptions(command).action(async (which: string, options: SettingsOptions) => {
    const { revokeToken } = await import('../../app/tokens.ts');
    const revoked = await revokeToken(configurationOf(options), which);
    const output = outputOf(options);
    output.result(revoked, () => output.line(`Revoked ${JSON.stringify(revoked.name)} (${revoked.id}).`));
  });
}
