import type { Command } from 'commander';

import { clientCommand, parseId, processIo, type ClientContext, type CommandIo } from '../output/client-command.ts';
import { CLIENT_EXIT } from '../output/exit-codes.ts';
import { given, paged, pageQuery, type PageOptions } from '../output/list-options.ts';
import type { Output } from '@heddle/base/terminal/output';
import { writeTable } from '@heddle/base/terminal/table';
import type { DeadLetter } from '../output/wire.ts';

/** Messages are shown up to this length; `--json` has all of them. */
const BODY_SHOWN_CHARACTERS = 200;

/** Adds `heddle queue …`. */
export function registerQueueCommands(program: Command, io: CommandIo = processIo): void {
  const queue = program.command('queue').description('Inspect dead letters and redrive them');
  clientCommand<PageOptions>(
    paged(
      queue
        .command('list')
        .description('List dead letters, oldest first; for one queue also its message counts')
        .argument('[queue]', 'manager or worker:KIND (default all queues)'),
      'dead letters',
    ),
    io,
    listQueue,
  );
  clientCommand(
    queue
      .command('redrive')
      .description('Return dead letters to their queue')
      .argument('<queue>', 'Queue that they came from')
      .argument('[id]', 'Only the message with this ID', parseId),
    io,
    async ({ client, output }, _options, name, id?: string) => {
      const redriven = await client.queues.redrive(name, id === undefined ? undefined : [id]);
      if (id !== undefined && redriven === 0) {
        output.result({ queue: name, redriven }, () =>
          output.line(`${name} has no dead letter ${id}; list them with: heddle queue list ${name}`),
        );
        return CLIENT_EXIT.notFound;
      }
      output.result({ queue: name, redriven }, () => output.line(`${countOf(redriven)} of ${name} redriven`));
      return undefined;
    },
  );
}

async function listQueue({ client, output }: ClientContext, options: PageOptions, name?: string): Promise<undefined> {
  const letters = await client.queues.deadLetters({ ...given({ queue: name }), ...pageQuery(options) });
  if (name === undefined) {
    output.result(letters, () => writeLetters(output, letters));
    return undefined;
  }
  const counts = await client.queues.get(name);
  output.result({ ...counts, dead_letters: letters }, () => {
    const { visible, in_flight, delayed, dead } = counts;
    output.line(`${name}: ${visible} visible, ${in_flight} in flight, ${delayed} delayed, ${dead} dead`);
    writeLetters(output, letters);
  });
  return undefined;
}

function writeLetters(output: Output, letters: readonly DeadLetter[]): void {
  if (letters.length === 0) {
    output.line('no dead letters');
    return;
  }
  writeTable(
    output,
    [
      { header: 'ID', value: ({ id }) => id },
      { header: 'QUEUE', value: ({ queue }) => queue },
      { header: 'DEAD-LETTERED', value: ({ dead_lettered_at }) => dead_lettered_at },
      { header: 'RECEIVED', value: ({ receive_count }) => String(receive_count), align: 'right' },
      { header: 'REASON', value: ({ reason }) => reason, flexible: true },
      { header: 'MESSAGE', value: ({ body }) => body.slice(0, BODY_SHOWN_CHARACTERS), flexible: true },
    ],
    letters,
  );
}

function countOf(letters: number): string {
  return letters === 1 ? '1 dead letter' : `${letters} dead letters`;
}
