import type { Command } from 'commander';

import { clientCommand, parseId, processIo, type CommandIo } from '../output/client-command.ts';
import { pagedByCursor } from '../output/list-options.ts';
import type { WorkListOptions } from '../output/work.ts';
import { addSubmit } from './batch-submit.ts';
import { listBatches, showBatch, type BatchGetOptions } from './batch-show.ts';
import { follow } from './batch-watch.ts';

/** Adds `heddle batch …`. */
export function registerBatchCommands(program: Command, io: CommandIo = processIo): void {
  const batch = program.command('batch').description('Submit, follow and cancel batches');
  addSubmit(batch, io);
  addReads(batch, io);
  clientCommand(
    batch
      .command('cancel')
      .description('Cancel all unfinished tasks of a batch')
      .argument('<id>', 'ID of the batch', parseId),
    io,
    async ({ client, output }, _options, id) => {
      const canceled = await client.cancelBatch(id);
      output.result({ batch_id: id, canceled }, () =>
        output.line(
          canceled === 0 ? `batch ${id} has already completed; nothing was canceled` : `canceled ${canceled} tasks`,
        ),
      );
      return undefined;
    },
  );
}

function addReads(batch: Command, io: CommandIo): void {
  clientCommand<WorkListOptions>(
    pagedByCursor(
      batch
        .command('list')
        .description('List batches, newest first')
        .option('--open', 'Only batches with unfinished tasks')
        .option('--ended', 'Only completed batches'),
      'Batches',
    ),
    io,
    listBatches,
  );
  clientCommand<BatchGetOptions>(
    batch
      .command('get')
      .description('Show a batch')
      .argument('<id>', 'ID of the batch', parseId)
      .option('--tasks', 'Include its tasks and links'),
    io,
    showBatch,
  );
  clientCommand(
    batch
      .command('watch')
      .description('Follow a batch to completion; fails unless every task succeeded')
      .argument('<id>', 'ID of the batch', parseId),
    io,
    async (context, _options, id) => follow(context, id),
  );
}
