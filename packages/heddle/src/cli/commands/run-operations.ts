import type { Command } from 'commander';

import { clientCommand, parseId, processIo, type ClientContext, type CommandIo } from '../output/client-command.ts';
import { UsageFailure } from '../output/failure.ts';
import { readJsonFile, sourceName } from '../output/json-file.ts';
import type { RunInputs } from '../output/wire.ts';

/** Adds `heddle runs definition` and `heddle runs rerun`. */
export function registerRunOperationCommands(program: Command, io: CommandIo = processIo): void {
  const runs =
    program.commands.find((command) => command.name() === 'runs') ??
    program.command('runs').description('Inspect and repeat runs: batches and workflows');
  clientCommand(
    runs
      .command('definition')
      .description('Print what was submitted as a run, as JSON that can be submitted')
      .argument('<id>', 'ID of the batch or the workflow', parseId),
    io,
    printDefinition,
  );
  clientCommand<{ inputs?: string }>(
    runs
      .command('rerun')
      .description('Run a run again, as a new run')
      .argument('<id>', 'ID of the batch or the workflow', parseId)
      .option(
        '--inputs <file>',
        'JSON file with other inputs by the id or the name of their task; - reads standard input',
      ),
    io,
    rerun,
  );
}

async function printDefinition({ client, output }: ClientContext, _options: unknown, id: string): Promise<undefined> {
  const definition = await client.operations.definition(id);
  const { redacted, left_out } = definition;
  output.result(definition, () => {
    const body = definition.type === 'batch' ? definition.tasks : definition.workflow;
    output.line(JSON.stringify(body, null, 2));
    if (redacted) output.notice('warning: secrets of its requests are redacted; heddle runs rerun copies them');
    if (left_out.generated_tasks > 0) output.notice(`left out: ${left_out.generated_tasks} tasks of generators`);
    if (left_out.dependencies > 0) output.notice(`left out: ${left_out.dependencies} dependencies on other batches`);
  });
  return undefined;
}

const FORM = 'inputs are an object of objects: { "resize": { "width": 100 } }';

async function rerun(
  { client, output, io, url }: ClientContext,
  { inputs: file }: { inputs?: string },
  id: string,
): Promise<undefined> {
  const inputs = file === undefined ? undefined : await readInputs(file, io);
  const started = await client.operations.rerun(id, inputs === undefined ? {} : { inputs });
  output.result(started, () => {
    output.line(`${started.type} ${started.id} started`);
    output.line(`see it at ${url}/runs/${started.id}`);
  });
  return undefined;
}

async function readInputs(file: string, io: CommandIo): Promise<RunInputs> {
  const value = await readJsonFile(file, io.stdin, FORM);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as RunInputs;
  throw new UsageFailure(`${sourceName(file)} does not contain inputs`, { hint: FORM });
}
