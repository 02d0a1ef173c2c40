import type { Command } from 'commander';

import { clientCommand, parseId, processIo, wholeNumber, type CommandIo } from '../output/client-command.ts';
import type { WorkListOptions } from '../output/work.ts';
import { addSubmit } from './batch-submit.ts';
import { listBatches, showBatch, type BatchGetOptions } from './batch-show.ts';
import { follow } from './batch-watch.ts';

/** Adds `heddle batch …`. */
export function registerBatchCommands(program: Command, io: CommandIo = processIo): void {
  const batch = program.command('batch').description('submit, follow and stop batches');
  addSubmit(batch, io);
  addReads(batch, io);
  clientCommand(
    batch
      .command('stop')
      .description('cancel all tasks of a batch that have not ended')
      .argument('<id>', 'id of the batch', parseId),
    io,
    async ({ client, output }, _options, id) => {
      const canceled = await client.cancelBatch(id);
      output.result({ batch_id: id, canceled }, () =>
        output.line(
          canceled === 0 ? `batch ${id} had ended already; nothing was canceled` : `canceled ${canceled} of its tasks`,
        ),
      );
      return undefined;
    },
  );
}

function addReads(batch: Command, io: CommandIo): void {
  clientCommand<WorkListOptions>(
    batch
      .command('list')
      .description('list batches, newest first')
      .option('--open', 'only those with tasks that have not ended')
      .option('--ended', 'only those without')
      .option('--page <number>', 'page, from 0', wholeNumber(0, 100_000_000))
      .option('--page-size <number>', 'batches a page', wholeNumber(1, 10_000)),
    io,
    listBatches,
  );
  clientCommand<BatchGetOptions>(
    batch
      .command('get')
      .description('show a batch')
      .argument('<id>', 'id of the batch', parseId)
      .option('--tasks', 'with its tasks and links'),
    io,
    showBatch,
  );
  clientCommand(
    batch
      .command('watch')
      .description('follow a batch to its end; fails unless every task succeeded')
      .argument('<id>', 'id of the batch', parseId),
    io,
    async (context, _options, id) => follow(context, id),
  );
}
