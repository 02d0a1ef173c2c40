import type { Command } from 'commander';

import { addSettingsOptions, collect, configurationOf, outputOf, type SettingsOptions } from '../settings-options.ts';
import type { KeysWritten, ListedKey } from '../../app/remote/keys.ts';
import type { Output } from '@heddle/base/terminal/output';
import { writeTable } from '@heddle/base/terminal/table';

const HELP = `
The ring belongs to the executor (HEDDLE_EXECUTOR_KEYS); a client's file has only the keys of that client. All of
them are written with mode 0600. Exit codes: 0 success, 1 failed, 2 invalid option or setting.`;

/** `heddle keys`: manages the keys that sign calls to executors. */
export function registerKeysCommand(program: Command): void {
  const keys = program
    .command('keys')
    .description('Create, rotate and list the keys that sign calls to executors')
    .addHelpText('after', HELP);
  registerGenerate(keys);
  registerRotate(keys);
  registerClient(keys);
  registerList(keys);
}

function registerGenerate(keys: Command): void {
  const command = keys
    .command('generate')
    .description('Create a key ring, and a file for each client')
    .requiredOption('--out <directory>', 'Directory for keys.json and client-NAME.json')
    .option('--client <name>', 'Name of a client; may be repeated', collect, [])
    .option('--audience <name>', 'Audience of the executor (HEDDLE_EXECUTOR_AUDIENCE)');
  addSettingsOptions(command).action(
    async (options: SettingsOptions & { out: string; client: string[]; audience?: string }) => {
      const { generateKeys } = await import('../../app/remote/keys.ts');
      const audience = options.audience ?? configurationOf(options).values.executorAudience;
      const made = await generateKeys(options.out, options.client, audience);
      const output = outputOf(options);
      output.result(made, () => {
        output.line(`Created the key ${made.key_id} in ${made.ring}: HEDDLE_EXECUTOR_KEYS of the executor.`);
        printClients(output, made);
      });
    },
  );
}

function registerRotate(keys: Command): void {
  const command = keys
    .command('rotate')
    .description('Add a new key; older ones are accepted for a grace period, then retired')
    .option('--ring <file>', 'Key ring (HEDDLE_EXECUTOR_KEYS)')
    .option('--grace <time>', 'Grace period of the older keys', '24h')
    .option('--client-file <file>', 'Client whose file is rewritten; may be repeated', collect, []);
  addSettingsOptions(command).action(
    async (options: SettingsOptions & { ring?: string; grace: string; clientFile: string[] }) => {
      const { ringPathOf, rotateKeys } = await import('../../app/remote/keys.ts');
      const ring = ringPathOf(configurationOf(options), options.ring);
      const made = await rotateKeys(ring, options.grace, options.clientFile);
      const output = outputOf(options);
      output.result(made, () => {
        output.line(`The key is ${made.key_id} now; the older ones are accepted until ${made.retires_at}.`);
        printClients(output, made);
      });
    },
  );
}

function registerClient(keys: Command): void {
  const command = keys
    .command('client')
    .argument('<name>', 'Name of the client')
    .description('Write the file of a client from an existing ring')
    .option('--ring <file>', 'Key ring (HEDDLE_EXECUTOR_KEYS, else HEDDLE_EXECUTOR_SECRET_KEY)')
    .option('--audience <name>', 'Audience of the executor (HEDDLE_EXECUTOR_AUDIENCE)')
    .option('--out <file>', 'Output file (default standard output)');
  addSettingsOptions(command).action(
    async (client: string, options: SettingsOptions & { ring?: string; audience?: string; out?: string }) => {
      const { clientKeys } = await import('../../app/remote/keys.ts');
      const { ring, audience, out } = options;
      const credentials = await clientKeys(configurationOf(options), ring, { client, audience, out });
      const output = outputOf(options);
      if (out === undefined) output.document(credentials);
      else output.result({ client, file: out }, () => output.line(`Wrote the file of ${client}: ${out}`));
    },
  );
}

function registerList(keys: Command): void {
  const command = keys
    .command('list')
    .description('List the keys of a ring, without their secrets')
    .option('--ring <file>', 'Key ring (HEDDLE_EXECUTOR_KEYS)');
  addSettingsOptions(command).action(async (options: SettingsOptions & { ring?: string }) => {
    const { listKeys, ringPathOf } = await import('../../app/remote/keys.ts');
    const listed = await listKeys(ringPathOf(configurationOf(options), options.ring));
    const output = outputOf(options);
    output.result(listed, () =>
      writeTable<ListedKey>(
        output,
        [
          { header: 'ID', value: ({ id }) => id },
          { header: 'STATE', value: ({ state }) => state },
          { header: 'CREATED', value: ({ created_at }) => created_at },
          { header: 'RETIRES', value: ({ retires_at }) => retires_at ?? '-' },
        ],
        listed,
      ),
    );
  });
}

function printClients(output: Output, { clients }: KeysWritten): void {
  for (const { client, file } of clients) output.line(`${client}: ${file}`);
}
