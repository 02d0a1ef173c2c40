import { Option, type Command } from 'commander';

import {
  clientCommand,
  parseId,
  processIo,
  wholeNumber,
  type ClientContext,
  type CommandIo,
} from '../output/client-command.ts';
import { UsageFailure } from '../output/failure.ts';
import { readJsonFile, sourceName } from '../output/json-file.ts';
import { given, pagedByCursor } from '../output/list-options.ts';
import { STATUSES } from '../output/status.ts';
import type { TaskDetail, TaskInput } from '../output/wire.ts';
import { showAttempts, type AttemptOptions } from './task-attempts.ts';
import { explainTask } from './task-explain.ts';
import { finishTask, type FinishOptions } from './task-finish.ts';
import { showLogs, type LogOptions } from './task-logs.ts';
import { listTasks, showTask, printTask, type TaskListOptions } from './task-show.ts';

/** Adds `heddle task …`. */
export function registerTaskCommands(program: Command, io: CommandIo = processIo): void {
  const task = program.command('task').description('Inspect and control tasks');
  addList(task, io);
  clientCommand(withId(task, 'get', 'Show a task with its actions, rules and metadata'), io, showTask);
  clientCommand(withId(task, 'explain', 'Explain why a task is not running'), io, explainTask);
  clientCommand<AttemptOptions>(
    withId(task, 'attempts', 'Show the attempts of a task, newest first')
      .option('--before <number>', 'Only attempts with lower numbers', wholeNumber(1, 2_147_483_647))
      .option('--limit <number>', 'Attempts to show', wholeNumber(1, 10_000)),
    io,
    showAttempts,
  );
  clientCommand<LogOptions>(
    withId(task, 'logs', 'Show what a task logged, or what the command that it runs wrote')
      .option('-f, --follow', 'Continue until the task has ended')
      .option('--attempt <number>', 'Of this attempt; by default the one that logged last', wholeNumber(1, 1_000_000))
      .option('--tail <lines>', 'Only the last lines', wholeNumber(1, 10_000))
      .option('--timestamps', 'Begin each line with its time'),
    io,
    showLogs,
  );
  addFinish(task, io);
  addSteering(task, io);
  addRetry(task, io);
}

function withId(group: Command, name: string, description: string): Command {
  return group.command(name).description(description).argument('<id>', 'ID of the task', parseId);
}

function addList(task: Command, io: CommandIo): void {
  clientCommand<TaskListOptions>(
    pagedByCursor(
      task
        .command('list')
        .description('List tasks, newest first')
        .addOption(new Option('--status <status>', 'Only with this status').choices(STATUSES))
        .option('--kind <text>', 'Only with this string in their kind')
        .option('--name <text>', 'Only with this string in their name')
        .option('--batch <id>', 'Only of this batch', parseId)
        .option('--metadata <json>', 'Only with metadata that contains this JSON object'),
      'Tasks',
    ),
    io,
    listTasks,
  );
}

function addFinish(task: Command, io: CommandIo): void {
  clientCommand<FinishOptions>(
    withId(task, 'finish', 'Report the end of a running task')
      .addOption(new Option('--status <status>', 'Outcome').choices(['Success', 'Failure']).makeOptionMandatory())
      .option('--reason <text>', 'Failure reason; required with Failure')
      .option('--metadata <json>', 'JSON object merged into its metadata'),
    io,
    finishTask,
  );
}

type Steer = (client: ClientContext['client'], id: string) => Promise<TaskDetail>;

const STEERING: readonly { name: string; description: string; steer: Steer }[] = [
  {
    name: 'cancel',
    description: 'Cancel a task; dependents that require its success fail',
    steer: (client, id) => client.cancelTask(id),
  },
  { name: 'pause', description: 'Pause a task', steer: (client, id) => client.pauseTask(id) },
  { name: 'resume', description: 'Resume a paused task', steer: (client, id) => client.resumeTask(id) },
  {
    name: 'release',
    description: 'Release the slots of a canceled task whose target never reported that it stopped',
    steer: (client, id) => client.releaseTask(id),
  },
];

interface RetryOptions {
  after?: boolean;
  input?: string;
}

function addRetry(task: Command, io: CommandIo): void {
  clientCommand<RetryOptions>(
    withId(task, 'retry', 'Retry a failed or canceled task, and the tasks that failed because of it')
      .option('--after', 'Also run everything after it again, even what succeeded')
      .option('--input <file>', 'JSON file with another input; - reads standard input'),
    io,
    async ({ client, output }, { after, input: file }, id) => {
      const input = file === undefined ? undefined : await readInput(file, io);
      printTask(output, await client.retryTask(id, given({ after, input })));
      return undefined;
    },
  );
}

const INPUT_FORM = 'an input is an object: { "width": 100 }';

async function readInput(file: string, io: CommandIo): Promise<TaskInput> {
  const value = await readJsonFile(file, io.stdin, INPUT_FORM);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as TaskInput;
  throw new UsageFailure(`${sourceName(file)} does not contain an input`, { hint: INPUT_FORM });
}

function addSteering(task: Command, io: CommandIo): void {
  for (const { name, description, steer } of STEERING) {
    clientCommand(withId(task, name, description), io, async ({ client, output }, _options, id) => {
      printTask(output, await steer(client, id));
      return undefined;
    });
  }
}
