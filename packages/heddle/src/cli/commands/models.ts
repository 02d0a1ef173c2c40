import { Option, type Command } from 'commander';

import {
  clientCommand,
  parseId,
  processIo,
  wholeNumber,
  type ClientContext,
  type CommandIo,
} from '../output/client-command.ts';
import { given, pageQuery, paged, type PageOptions } from '../output/list-options.ts';
import type { Output, Style } from '@heddle/base/terminal/output';
import { writeFields, writeTable } from '@heddle/base/terminal/table';
import { writeTargets } from '../output/target-table.ts';
import { printable } from '@heddle/base/terminal/text';
import type { Model } from '../output/wire.ts';

interface ListOptions {
  target?: string;
  model?: string;
  state?: Model['state'];
  key?: string;
  search?: string;
  changedSince?: string;
  after?: string;
  pageSize?: number;
}

const STATE_LOOKS: Readonly<Record<Model['state'], Style>> = {
  new: 'green',
  changed: 'yellow',
  known: 'gray',
  gone: 'red',
};
const SUMMARY_CHARACTERS_MAX = 120;

/** Adds `heddle models …`. */
export function registerModelsCommands(program: Command, io: CommandIo = processIo): void {
  const models = program
    .command('models')
    .description('Inspect the known hosts, services, names and certificates, and their changes');
  clientCommand<ListOptions>(
    models
      .command('list')
      .description('List models, newest first')
      .option('--target <name>', 'Only of this target')
      .option('--model <name>', 'Only of this type: host, service, name, tls, certificate, or your own')
      .addOption(new Option('--state <state>', 'Only in this state').choices(['new', 'changed', 'known', 'gone']))
      .option('--key <prefix>', 'Only with this key prefix')
      .option('--search <text>', 'Only with this string in their key or data, case-insensitive')
      .option(
        '--changed-since <moment>',
        'Only new, changed or gone since this time: 2026-01-31, or 2026-01-31T08:00:00Z',
      )
      .option('--after <id>', 'Continue after this model', parseId)
      .option('--page-size <number>', 'Models per page', wholeNumber(1, 10_000)),
    io,
    listModels,
  );
  clientCommand(
    models.command('get').description('Show a model').argument('<id>', 'ID of the model', parseId),
    io,
    async ({ client, output }, _options, id) => printModel(output, await client.models.get(id)),
  );
  clientCommand<PageOptions>(
    paged(models.command('targets').description('List the targets of models, with the latest run of each'), 'targets'),
    io,
    listTargets,
  );
}

async function listModels({ client, output }: ClientContext, options: ListOptions): Promise<undefined> {
  const { target, model, state, key, search, changedSince, after, pageSize } = options;
  const listed = await client.models.list(
    given({ target, model, state, key, search, changed_since: changedSince, after, page_size: pageSize }),
  );
  output.result(listed, () => writeModels(output, listed));
  return undefined;
}

function writeModels(output: Output, models: readonly Model[]): void {
  if (models.length === 0) {
    output.line('no matching models');
    return;
  }
  writeTable(
    output,
    [
      { header: 'ID', value: ({ id }) => id },
      { header: 'STATE', value: ({ state }) => state, style: ({ state }) => STATE_LOOKS[state] },
      { header: 'TARGET', value: ({ target }) => target, flexible: true },
      { header: 'MODEL', value: ({ model }) => model },
      { header: 'KEY', value: ({ key }) => key, flexible: true },
      { header: 'CHANGED', value: ({ changed_at }) => changed_at },
      { header: 'WHAT', value: summaryOf, flexible: true },
    ],
    models,
  );
}

/** The names of changed members, if any; else the data. */
function summaryOf({ state, changes, data }: Model): string {
  if (state === 'changed') return changes.map(({ field }) => field).join(', ');
  const text = JSON.stringify(data);
  return text.length > SUMMARY_CHARACTERS_MAX ? `${text.slice(0, SUMMARY_CHARACTERS_MAX - 1)}…` : text;
}

function printModel(output: Output, model: Model): undefined {
  output.result(model, () => {
    writeFields(output, [
      ['id', model.id],
      ['target', printable(model.target)],
      ['model', model.model],
      ['key', printable(model.key)],
      ['state', output.paint(STATE_LOOKS[model.state], model.state)],
      ['first seen', `${model.first_seen}, run ${model.first_run}`],
      ['last seen', `${model.last_seen}, run ${model.last_run}, in ${model.runs} ${model.runs === 1 ? 'run' : 'runs'}`],
      ['changed', `${model.changed_at}, run ${model.changed_run}`],
      ['gone since', model.gone_at],
      ...model.changes.map((change): [string, string] => [
        `was ${printable(change.field)}`,
        printable(`${JSON.stringify(change.old)} -> ${JSON.stringify(change.new)}`),
      ]),
      ...Object.entries(model.data).map(([name, value]): [string, string] => [
        printable(name),
        printable(typeof value === 'string' ? value : JSON.stringify(value)),
      ]),
    ]);
  });
  return undefined;
}

async function listTargets({ client, output }: ClientContext, options: PageOptions): Promise<undefined> {
  const targets = await client.models.targets(pageQuery(options));
  output.result(targets, () => {
    if (targets.length === 0) output.line('no models yet');
    else writeTargets(output, targets, ['new', 'changed', 'known', 'gone']);
  });
  return undefined;
}
