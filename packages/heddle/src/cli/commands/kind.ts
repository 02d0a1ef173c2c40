import type { Command } from 'commander';

import type { Output } from '@heddle/base/terminal/output';
import { writeFields, writeTable } from '@heddle/base/terminal/table';
import { printable } from '@heddle/base/terminal/text';
import { clientCommand, processIo, wholeNumber, type ClientContext, type CommandIo } from '../output/client-command.ts';
import { given } from '../output/list-options.ts';
import type { Kind } from '../output/wire.ts';

interface ListOptions {
  after?: string;
  pageSize?: number;
}

/** Adds `heddle kind …`. */
export function registerKindCommands(program: Command, io: CommandIo = processIo): void {
  const kind = program.command('kind').description('Inspect kinds of tasks: what they do, their inputs, their workers');
  clientCommand<ListOptions>(
    kind
      .command('list')
      .description('List kinds by name')
      .option('--after <name>', 'Only kinds with names after this one')
      .option('--page-size <number>', 'Kinds to list (default 1000)', wholeNumber(1, 1000)),
    io,
    listKinds,
  );
  clientCommand(
    kind.command('show').description('Show a kind with the schema of its input').argument('<name>', 'Name of the kind'),
    io,
    showKind,
  );
}

async function listKinds({ client, output }: ClientContext, { after, pageSize }: ListOptions): Promise<undefined> {
  const kinds = await client.kinds.list(given({ after, page_size: pageSize }));
  output.result(kinds, () => writeKinds(output, kinds));
  return undefined;
}

function writeKinds(output: Output, kinds: readonly Kind[]): void {
  if (kinds.length === 0) {
    output.line('no matching kinds');
    return;
  }
  writeTable(
    output,
    [
      { header: 'NAME', value: ({ name }) => name, flexible: true },
      { header: 'WORKERS', value: ({ workers }) => String(workers), align: 'right' },
      { header: 'LAST SEEN', value: ({ last_seen_at }) => last_seen_at ?? '-' },
      { header: 'INPUT', value: ({ input_schema }) => (input_schema === null ? 'any' : 'schema') },
      { header: 'WHAT', value: ({ description }) => description ?? '', flexible: true },
    ],
    kinds,
  );
}

async function showKind({ client, output }: ClientContext, _options: unknown, name: string): Promise<undefined> {
  const kind = await client.kinds.get(name);
  output.result(kind, () => {
    writeFields(output, [
      ['name', printable(kind.name)],
      ['built in', kind.built_in ? 'yes' : 'no'],
      ['what', kind.description === null ? null : printable(kind.description)],
      ['workers', String(kind.workers)],
      ['last seen', kind.last_seen_at],
      ['input', kind.input_schema === null ? 'unknown: no worker has reported its schema' : null],
    ]);
    if (kind.input_schema !== null) output.line(JSON.stringify(kind.input_schema, null, 2));
  });
  return undefined;
}
