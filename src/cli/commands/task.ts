import { Option, type Command } from 'commander';

import {
  clientCommand,
  parseId,
  processIo,
  wholeNumber,
  type ClientContext,
  type CommandIo,
} from '../output/client-command.ts';
import { STATUSES } from '../output/status.ts';
import type { TaskDetail } from '../output/wire.ts';
import { explainTask } from './task-explain.ts';
import { finishTask, type FinishOptions } from './task-finish.ts';
import { listTasks, showTask, tellTask, type TaskListOptions } from './task-show.ts';

/** Adds `heddle task …`. */
export function registerTaskCommands(program: Command, io: CommandIo = processIo): void {
  const task = program.command('task').description('look at tasks and steer them');
  addList(task, io);
  clientCommand(withId(task, 'get', 'show a task with its actions, rules and metadata'), io, showTask);
  clientCommand(withId(task, 'explain', 'say why a task is not running'), io, explainTask);
  addFinish(task, io);
  addSteering(task, io);
}

function withId(group: Command, name: string, description: string): Command {
  return group.command(name).description(description).argument('<id>', 'id of the task', parseId);
}

function addList(task: Command, io: CommandIo): void {
  clientCommand<TaskListOptions>(
    task
      .command('list')
      .description('list tasks, newest first')
      .addOption(new Option('--status <status>', 'only those of this status').choices(STATUSES))
      .option('--kind <text>', 'only those whose kind contains the text')
      .option('--name <text>', 'only those whose name contains the text')
      .option('--batch <id>', 'only those of this batch', parseId)
      .option('--metadata <json>', 'only those whose metadata contains this JSON object')
      .option('--page <number>', 'page, from 0', wholeNumber(0, 100_000_000))
      .option('--page-size <number>', 'tasks a page', wholeNumber(1, 10_000)),
    io,
    listTasks,
  );
}

function addFinish(task: Command, io: CommandIo): void {
  clientCommand<FinishOptions>(
    withId(task, 'finish', 'end a task that was started')
      .addOption(new Option('--status <status>', 'how it ended').choices(['Success', 'Failure']).makeOptionMandatory())
      .option('--reason <text>', 'why it failed; needed with Failure')
      .option('--metadata <json>', 'merged into its metadata'),
    io,
    finishTask,
  );
}

type Steer = (client: ClientContext['client'], id: string) => Promise<TaskDetail>;

const STEERING: readonly { name: string; description: string; steer: Steer }[] = [
  {
    name: 'cancel',
    description: 'cancel a task; children that require its success fail',
    steer: (client, id) => client.cancelTask(id),
  },
  { name: 'pause', description: 'hold a task', steer: (client, id) => client.pauseTask(id) },
  { name: 'resume', description: 'let a paused task go on', steer: (client, id) => client.resumeTask(id) },
  {
    name: 'retry',
    description: 'run a task again that failed or was canceled, and what failed because of it',
    steer: (client, id) => client.retryTask(id),
  },
  {
    name: 'release',
    description: 'release the slots of a canceled task whose target never reported that it stopped',
    steer: (client, id) => client.releaseTask(id),
  },
];

function addSteering(task: Command, io: CommandIo): void {
  for (const { name, description, steer } of STEERING) {
    clientCommand(withId(task, name, description), io, async ({ client, output }, _options, id) => {
      tellTask(output, await steer(client, id));
      return undefined;
    });
  }
}
