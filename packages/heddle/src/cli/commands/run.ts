import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import { isUtf8 } from 'node:buffer';

import { Option, type Command } from 'commander';

import { messageOf } from '@heddle/base/thrown';
import { printable } from '@heddle/base/terminal/text';
import {
  clientCommand,
  processIo,
  wholeNumber,
  type ClientAction,
  type ClientContext,
  type CommandIo,
} from '../output/client-command.ts';
import { CLIENT_EXIT } from '../output/exit-codes.ts';
import { downloadInto } from '../output/download-artifact.ts';
import { UsageFailure } from '../output/failure.ts';
import type { NewTask } from '../output/wire.ts';
import { newestOf } from './artifact.ts';
import { LogWriter } from './task-logs.ts';

export interface RunOptions {
  env?: readonly string[];
  file?: readonly string[];
  stdin?: boolean;
  artifact?: readonly string[];
  out?: string;
  class?: string;
  isolation?: string;
  image?: string;
  network?: boolean;
  memory?: number;
  timeout?: number;
  name?: string;
  detach?: boolean;
}

const KIND = 'Command';
/** Time after which a task that has not started is explained. */
const WAITING_MS = 2_000;
const WAITING: ReadonlySet<string> = new Set(['Waiting', 'Pending', 'Paused']);
/** The metadata of a task. */
const INPUT_BYTES_MAX = 64 * 1024;

/** Adds `heddle run`. */
export function registerRunCommand(program: Command, io: CommandIo = processIo): void {
  const command = program
    .enablePositionalOptions()
    .command('run')
    .description('Run a command as a task, show its output, and exit with its code')
    .argument('<command...>', 'The program and its arguments')
    .option('--class <name>', 'Run it on a runner of this class of the pool');
  runOptions(command, io, (context, options, ...argv) => run(context, options, argv.flat()));
}

/** Adds `heddle pool run`. */
export function registerPoolRunCommand(pool: Command, io: CommandIo): void {
  const command = pool
    .enablePositionalOptions()
    .command('run')
    .description('Run a command on a runner of a class, as `heddle run --class` does')
    .argument('<class>', 'Class of the runner')
    .argument('<command...>', 'The program and its arguments');
  runOptions(command, io, (context, options, runnerClass, ...argv) =>
    run(context, { ...options, class: runnerClass }, argv.flat()),
  );
}

function runOptions(command: Command, io: CommandIo, action: ClientAction<RunOptions>): void {
  const collect = (value: string, before: readonly string[] = []): string[] => [...before, value];
  clientCommand<RunOptions>(
    command
      // What follows the program belongs to it, with or without `--`.
      .passThroughOptions()
      .option('--env <name=value>', 'Environment variable; may be repeated', collect)
      .option('--file <name[=path]>', 'File for its working directory; may be repeated', collect)
      .option('--stdin', 'Pass this standard input on to it')
      .option('--artifact <glob>', 'File of its working directory to download at the end; may be repeated', collect)
      .option('--out <directory>', 'Directory for these files (default the current one)')
      .addOption(new Option('--isolation <tier>', 'How it is isolated').choices(['jail', 'container', 'process']))
      .option('--image <name>', 'Run it in a container of this image, where commands may')
      .option('--network', 'Let it use the network, where commands may')
      .option('--memory <mib>', 'Memory limit', wholeNumber(1, 1_048_576))
      .option('--timeout <seconds>', 'Maximum time from its start', wholeNumber(1, 31_536_000))
      .option('--name <name>', 'Name of the task')
      .option('--detach', 'Only submit it and print its ID'),
    io,
    action,
  );
}

async function run(context: ClientContext, options: RunOptions, argv: readonly string[]): Promise<number> {
  const { client, output, io } = context;
  const task = await taskOf(options, argv, io.stdin);
  const stop = new AbortController();
  // Before the task exists, so that no interruption leaves it behind.
  const unsubscribe = io.onInterrupt(() => stop.abort(), ['SIGINT', 'SIGTERM']);
  try {
    const { tasks, warnings } = await client.submit([task]);
    for (const { message } of warnings) output.notice(`warning: ${printable(message)}`);
    const { id } = tasks[0]!;
    if (options.detach === true) {
      output.result({ id }, () => output.line(id));
      return CLIENT_EXIT.ok;
    }
    const writer = new LogWriter(output, { timestamps: false });
    void tellWhatItWaitsFor(context, id, stop.signal).catch(() => undefined);
    for await (const { attempt, lines } of client.followTaskLogs(id, {}, stop.signal)) writer.write(attempt, lines);
    if (stop.signal.aborted) {
      await client.cancelTask(id);
      output.notice(`canceled task ${id}`);
      return CLIENT_EXIT.interrupted;
    }
    if (options.artifact !== undefined) await download(context, options.out ?? '.', id);
    return await exitCodeOf(context, id);
  } finally {
    stop.abort();
    unsubscribe();
  }
}

async function download({ client, output }: ClientContext, directory: string, id: string): Promise<void> {
  for (const artifact of newestOf(await client.artifacts.list(id))) {
    output.notice(`downloaded ${printable(await downloadInto(directory, artifact, client))}`);
  }
}

/** Prints why the task waits until it runs, so that an empty terminal is explained. */
async function tellWhatItWaitsFor({ client, output }: ClientContext, id: string, stop: AbortSignal): Promise<void> {
  for (let said = ''; !stop.aborted;) {
    await output.clock.sleep(WAITING_MS, stop);
    const { task, summary, obstacles } = await client.explainTask(id);
    if (!WAITING.has(task.status)) return;
    if (summary !== said) output.notice(printable(summary));
    if (said === '' && obstacles.some(({ type }) => type === 'no_worker')) {
      output.notice('hint: HEDDLE_COMMANDS of a server or worker enables commands; see docs/core/commands.md');
    }
    said = summary;
  }
}

async function exitCodeOf({ client, output }: ClientContext, id: string): Promise<number> {
  const [task, [attempt]] = await Promise.all([client.getTask(id), client.taskAttempts(id, { page_size: 1 })]);
  if (task.status !== 'Success') {
    const reason = task.failure_reason === null ? '' : `: ${printable(task.failure_reason)}`;
    output.notice(`${output.paintError('red', task.status)} task ${id}${reason}`);
  }
  const code = attempt?.exit_code ?? null;
  return code ?? (task.status === 'Success' ? CLIENT_EXIT.ok : CLIENT_EXIT.failed);
}

async function taskOf(options: RunOptions, argv: readonly string[], stdin: Readable): Promise<NewTask> {
  const { isolation, image, network, memory, timeout, artifact, env = [], file = [] } = options;
  const input = {
    argv,
    env: Object.fromEntries(env.map(variableOf)),
    files: Object.fromEntries(await Promise.all(file.map(fileOf))),
    ...(options.stdin === true ? { stdin: await readText(stdin) } : {}),
    ...(artifact === undefined ? {} : { artifacts: artifact }),
    ...(image === undefined ? {} : { image }),
    ...(isolation === undefined ? {} : { isolation }),
    ...(network === true ? { network } : {}),
    ...(memory === undefined ? {} : { memory_mb: memory }),
  };
  const bytes = Buffer.byteLength(JSON.stringify(input));
  if (bytes > INPUT_BYTES_MAX)
    throw tooLarge(`--file, --stdin, --env and the command line have ${bytes} bytes as JSON`);
  return {
    name: options.name ?? argv.join(' ').slice(0, 100),
    kind: KIND,
    metadata: input,
    ...(timeout === undefined ? {} : { timeout, timeout_basis: 'start' as const }),
    ...(options.class === undefined ? {} : { requirements: { resource_class: options.class } }),
  };
}

function tooLarge(what: string): UsageFailure {
  const max = `a task may have ${INPUT_BYTES_MAX}`;
  return new UsageFailure(`${what}; ${max}: let the command fetch larger data, or use an artifact of another task`);
}

/** Of `NAME=VALUE`, or of a variable of this environment: `NAME`. */
function variableOf(given: string): [string, string] {
  const at = given.indexOf('=');
  if (at > 0) return [given.slice(0, at), given.slice(at + 1)];
  throw new UsageFailure(`--env must be NAME=VALUE, not ${JSON.stringify(given)}`);
}

/** Of `NAME=PATH`, or `PATH`, whose last part is then the name. */
async function fileOf(given: string): Promise<[string, string]> {
  const at = given.indexOf('=');
  const path = at > 0 ? given.slice(at + 1) : given;
  const name = at > 0 ? given.slice(0, at) : path.slice(path.lastIndexOf('/') + 1);
  const content = await readFile(path).catch((error: unknown) => {
    throw new UsageFailure(`--file: ${messageOf(error)}`);
  });
  if (content.length > INPUT_BYTES_MAX) throw tooLarge(`--file: ${path} has ${content.length} bytes`);
  if (!isUtf8(content)) throw new UsageFailure(`--file: ${path} is not text in UTF-8`);
  return [name, content.toString()];
}
