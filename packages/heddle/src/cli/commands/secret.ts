import type { Command } from 'commander';
import { text as readText } from 'node:stream/consumers';

import { writeTable } from '@heddle/base/terminal/table';
import { count, printable } from '@heddle/base/terminal/text';
import { clientCommand, processIo, type ClientContext, type CommandIo } from '../output/client-command.ts';
import { CLIENT_EXIT } from '../output/exit-codes.ts';
import { collect, outputOf } from '../settings-options.ts';

const HELP = `
Tasks name a secret as {"secret": "NAME"} in their input, webhooks in their headers. No command and no call returns its
value; it is replaced by *** in logs, results and errors of the tasks that use it.

  printf %s "$TOKEN" | heddle secret set GITHUB_TOKEN --grant Command --grant https://api.github.com`;

/** Adds `heddle secret …`. */
export function registerSecretCommands(program: Command, io: CommandIo = processIo): void {
  const secret = program
    .command('secret')
    .description('Set, list and delete the secrets of tasks')
    .addHelpText('after', HELP);
  clientCommand<{ grant?: string[] }>(
    secret
      .command('set')
      .description('Set a secret to what standard input has, without a final line break')
      .argument('<name>', 'A-Z, 0-9 and _, such as GITHUB_TOKEN')
      .option(
        '--grant <who>',
        'Kind that may use it, or origin that webhooks may send it to; may be repeated (default those that it has)',
        collect,
      ),
    io,
    setSecret,
  );
  clientCommand(secret.command('list').description('List secrets, without their values'), io, listSecrets);
  clientCommand(
    secret.command('delete').description('Delete a secret').argument('<name>', 'Name of the secret'),
    io,
    async ({ client, output }, _options, name) => {
      await client.secrets.delete(name);
      output.result({ name, deleted: true }, () => output.line(`${name} is deleted`));
      return undefined;
    },
  );
  clientCommand(
    secret
      .command('rotate')
      .description('Encrypt all secrets with the first key; older keys can be removed afterwards'),
    io,
    async ({ client, output }) => {
      const rotated = await client.secrets.rotate();
      output.result({ rotated }, () => output.line(`${count(rotated, 'secret')} encrypted with the first key`));
      return undefined;
    },
  );
  registerNewKey(secret);
}

async function setSecret(
  { client, output, io }: ClientContext,
  { grant }: { grant?: string[] },
  name: string,
): Promise<number | undefined> {
  if ('isTTY' in io.stdin && io.stdin.isTTY === true) output.notice('Type the value, then Enter and Ctrl-D:');
  const value = (await readText(io.stdin)).replace(/\r?\n$/, '');
  if (value === '') {
    output.notice('standard input is empty: write the value to it');
    return CLIENT_EXIT.usage;
  }
  const set = await client.secrets.set(name, value, grant);
  output.result(set, () => output.line(`${set.name} is set, for ${set.grants.map(printable).join(', ')}`));
  return undefined;
}

async function listSecrets({ client, output }: ClientContext): Promise<undefined> {
  const secrets = await client.secrets.list();
  output.result(secrets, () => {
    if (secrets.length === 0) output.line('no secrets');
    else
      writeTable(
        output,
        [
          { header: 'NAME', value: ({ name }) => name },
          { header: 'GRANTED TO', value: ({ grants }) => grants.map(printable).join(', '), flexible: true },
          { header: 'SET', value: ({ updated_at }) => updated_at },
          { header: 'KEY', value: ({ readable }) => (readable ? 'known' : 'missing') },
        ],
        secrets,
      );
  });
  return undefined;
}

function registerNewKey(secret: Command): void {
  secret
    .command('new-key')
    .description('Put a new key in front of those of a file (HEDDLE_SECRET_KEY_FILE)')
    .argument('<file>', 'The file; created with mode 0600')
    .option('--json', 'Print only JSON on standard output')
    .action(async (file: string, options: { json?: boolean }) => {
      const { addSecretKey } = await import('../../app/secret-keys.ts');
      await addSecretKey(file);
      const output = outputOf(options);
      output.result({ file }, () => {
        output.line(`${file} begins with a new key.`);
        output.line('Copy it to every server and worker, then encrypt the secrets with it: heddle secret rotate');
      });
    });
}
