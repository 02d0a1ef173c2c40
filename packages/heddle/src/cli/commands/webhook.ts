import { Option, type Command } from 'commander';

import { clientCommand, parseId, processIo, type ClientContext, type CommandIo } from '../output/client-command.ts';
import { given, paged, pageQuery, type PageOptions } from '../output/list-options.ts';
import type { Output, Style } from '@heddle/base/terminal/output';
import { writeTable } from '@heddle/base/terminal/table';
import type { Delivery } from '../output/wire.ts';

interface WebhookListOptions extends PageOptions {
  state?: Delivery['state'];
  task?: string;
}

const STATE_STYLES: Readonly<Record<Delivery['state'], Style>> = {
  held: 'gray',
  due: 'yellow',
  delivered: 'green',
  dead: 'red',
};

/** Adds `heddle webhook …`. */
export function registerWebhookCommands(program: Command, io: CommandIo = processIo): void {
  const webhook = program.command('webhook').description('Inspect webhook deliveries and replay dead ones');
  clientCommand<WebhookListOptions>(
    paged(
      webhook
        .command('list')
        .description('List deliveries, newest first')
        .addOption(new Option('--state <state>', 'Only in this state').choices(Object.keys(STATE_STYLES)))
        .option('--task <id>', 'Only of this task', parseId),
      'deliveries',
    ),
    io,
    listWebhooks,
  );
  clientCommand(
    webhook
      .command('replay')
      .description('Replay a dead end or cancel delivery (for a dead start, retry its task)')
      .argument('<id>', 'ID of the delivery', parseId),
    io,
    async ({ client, output }, _options, id) => {
      await client.replayWebhook(id);
      output.result({ id, replayed: true }, () => output.line(`delivery ${id} is due again`));
      return undefined;
    },
  );
}

async function listWebhooks({ client, output }: ClientContext, options: WebhookListOptions): Promise<undefined> {
  const { state, task } = options;
  const deliveries = await client.listWebhooks({ ...given({ state, task_id: task }), ...pageQuery(options) });
  output.result(deliveries, () => writeDeliveries(output, deliveries));
  return undefined;
}

function writeDeliveries(output: Output, deliveries: readonly Delivery[]): void {
  if (deliveries.length === 0) {
    output.line('no matching deliveries');
    return;
  }
  writeTable(
    output,
    [
      { header: 'ID', value: ({ id }) => id },
      { header: 'STATE', value: ({ state }) => state, style: ({ state }) => STATE_STYLES[state] },
      {
        header: 'TRIGGER',
        value: ({ action }) => ('condition' in action ? action.condition : undefined) ?? action.trigger,
      },
      { header: 'TARGET', value: ({ action }) => targetOf(action), flexible: true },
      { header: 'TRIES', value: ({ tries }) => String(tries), align: 'right' },
      {
        header: 'ANSWER',
        value: ({ last_status }) => (last_status === null ? '-' : String(last_status)),
        align: 'right',
      },
      { header: 'LAST ERROR', value: ({ last_error }) => last_error ?? '-', flexible: true },
    ],
    deliveries,
  );
}

function targetOf(action: Delivery['action']): string {
  if ('mail' in action) return `mail to ${action.mail.recipient}`;
  return action.params === undefined ? '-' : `${action.params.verb} ${action.params.url}`;
}
