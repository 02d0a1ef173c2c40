import type { Readable } from 'node:stream';

import type { Command } from 'commander';

import { clientCommand, type ClientContext, type CommandIo } from '../output/client-command.ts';
import type { ClientExit } from '../output/exit-codes.ts';
import { UsageFailure } from '../output/failure.ts';
import { readJsonFile, sourceName } from '../output/json-file.ts';
import { count, printable } from '@heddle/base/terminal/text';
import type { NewTask } from '../output/wire.ts';
import { follow } from './batch-watch.ts';

export interface SubmitOptions {
  watch?: boolean;
  idempotencyKey?: string;
  name?: string;
}

export function addSubmit(batch: Command, io: CommandIo): void {
  clientCommand<SubmitOptions>(
    batch
      .command('submit')
      .description('Create the tasks of a JSON file as one batch')
      .argument('<file>', 'A JSON array of tasks; - reads standard input')
      .option('--watch', 'Follow it to completion; fails unless every task succeeded')
      .option('--name <name>', 'Display name of the batch')
      .option('--idempotency-key <key>', 'Idempotency key: a repeat creates nothing and returns the first response'),
    io,
    submit,
  );
}

async function submit(
  context: ClientContext,
  { watch = false, idempotencyKey, name }: SubmitOptions,
  file: string,
): Promise<ClientExit | undefined> {
  const { client, output, url, io } = context;
  const tasks = await readTasks(file, io.stdin);
  const {
    batchId,
    tasks: created,
    warnings,
  } = await client.submit(tasks, {
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(name === undefined ? {} : { batchName: name }),
  });
  if (batchId === null) {
    output.result({ batch_id: null, tasks: [] }, () => output.line('nothing to create: no tasks given'));
    return undefined;
  }
  const page = `${url}/runs/${batchId}`;
  if (output.json && watch)
    output.document({ event: 'submitted', batch_id: batchId, created: created.length, page, warnings });
  else
    output.result({ batch_id: batchId, page, tasks: created, warnings }, () =>
      printCreated(context, batchId, created.length, page),
    );
  for (const { message } of warnings) output.notice(`warning: ${printable(message)}`);
  if (created.length === 0 || !watch) return undefined;
  return follow(context, batchId);
}

function printCreated({ output }: ClientContext, batchId: string, created: number, page: string): void {
  if (created === 0) {
    output.line('nothing created: every task is a duplicate of an existing one (dedupe_strategy)');
    return;
  }
  output.line(`batch ${output.paint('bold', batchId)}: ${count(created, 'task')} created`);
  output.line(`see it at ${page}`);
}

const FORM = 'a batch is an array of tasks: [{ "name": "first", "kind": "demo" }]';

/** The server checks each task; this error would not name the file if it came from the server. */
async function readTasks(file: string, stdin: Readable): Promise<NewTask[]> {
  const value = await readJsonFile(file, stdin, FORM);
  if (Array.isArray(value)) return value as NewTask[];
  throw new UsageFailure(`${sourceName(file)} does not contain an array`, { hint: FORM });
}
