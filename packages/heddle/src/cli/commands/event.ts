import { messageOf } from '@heddle/base/thrown';
import { InvalidArgumentError, type Command } from 'commander';

import type { RetryNotice } from '../../app/remote/event-client.ts';
import { parseId, wholeNumber, type CommandIo } from '../output/client-command.ts';
import { CLIENT_EXIT } from '../output/exit-codes.ts';
import { UsageFailure } from '../output/failure.ts';
import { readJsonFile } from '../output/json-file.ts';
import { eventCommand, type EventContext } from './event-options.ts';
import { writeAnswer, writeCanceled, writeEvents, writeEndpoints } from './event-show.ts';

interface SubmitOptions {
  timeout?: number;
  deadline?: number;
  idempotencyKey?: string;
  async?: boolean;
}

const ARGS_FORM =
  'arguments must be one JSON object, such as \'{"input_file":"data.csv"}\', @FILE, or - for standard input';

/** Adds `heddle event …`. */
export function registerEventCommands(program: Command, io?: CommandIo): void {
  const event = program.command('event').description('Run events on remote executors; needs no server and no database');
  registerSubmit(event, io);
  registerPoll(event, io);
  registerCancel(event, io);
  eventCommand(
    event.command('list').description('List the events that this client may submit'),
    async ({ remote, output, signal }) => {
      writeEvents(output, await remote.events({ signal }));
      return undefined;
    },
    io,
  );
  eventCommand(
    event.command('status').description('Show the status of each executor: workers, queue, recent tasks'),
    async ({ executors, output }) => {
      await executors.check();
      const endpoints = executors.list();
      writeEndpoints(output, endpoints);
      return endpoints.every(({ status }) => status === null) ? CLIENT_EXIT.unavailable : undefined;
    },
    io,
  );
}

function registerSubmit(event: Command, io?: CommandIo): void {
  eventCommand<SubmitOptions>(
    event
      .command('submit')
      .description('Run an event and print its result')
      .argument('<event>', 'Name of the event')
      .argument('[args]', 'Arguments: JSON, @FILE, or - for standard input')
      .option('--timeout <seconds>', 'Timeout of the task', wholeNumber(1, 86_400))
      .option('--deadline <seconds>', 'How long to wait for completion before canceling it', wholeNumber(1, 86_400))
      .option('--idempotency-key <key>', 'Idempotency key: a repeat returns the first task', parseKey)
      .option('--async', 'Print its ID as soon as it is accepted'),
    submitEvent,
    io,
  );
}

async function submitEvent(
  { remote, output, io, signal }: EventContext,
  { timeout, deadline, idempotencyKey, async: isAsync = false }: SubmitOptions,
  name: string,
  args?: string,
): Promise<undefined> {
  const limits = {
    signal,
    onRetry: printRetries(output),
    ...(deadline === undefined ? {} : { deadlineSecs: deadline }),
  };
  const task = await remote.submitAsync(name, await readArgs(args, io), {
    ...limits,
    ...(timeout === undefined ? {} : { timeoutSecs: timeout }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    acknowledge: isAsync ? 'never' : 'now',
  });
  const { correlationId: correlation_id, endpoint } = task;
  if (isAsync) {
    output.result({ correlation_id, status: 'pending', endpoint }, () => output.line(correlation_id));
    return undefined;
  }
  const result = await task.result({
    ...limits,
    onProgress: ({ fraction, message = '' }) => {
      const share = fraction === undefined ? '' : `${Math.round(fraction * 100)} % `;
      output.notice(`${share}${message}`.trim());
    },
  });
  output.result({ correlation_id, status: 'success', endpoint, result }, () =>
    output.line(JSON.stringify(result, null, 2)),
  );
  return undefined;
}

/** Reports why the command is still waiting; each reason once, however often it recurs. */
function printRetries(output: EventContext['output']): (retry: RetryNotice) => void {
  let lastReason = '';
  return ({ endpoint, error }) => {
    const reason = `${endpoint}: ${messageOf(error)}`;
    if (reason === lastReason) return;
    lastReason = reason;
    const hint = endpoint.includes('+plain') ? '; for TLS, remove +plain from its URL' : '';
    output.notice(`retrying: ${reason}${hint}`);
  };
}

function registerPoll(event: Command, io?: CommandIo): void {
  eventCommand<{ wait?: number; ack?: boolean }>(
    event
      .command('poll')
      .description('Show the state of a task, and its result once it has completed')
      .argument('<id>', 'Correlation ID of the task', parseId)
      .option('--wait <seconds>', 'How long to wait for completion, at most 30', wholeNumber(0, 30))
      .option('--ack', 'Delete it on the executor once its outcome is printed'),
    async ({ remote, output, signal }, { wait = 0, ack = false }, correlationId) => {
      const answer = await remote.poll({ correlationId }, { waitSecs: wait, signal });
      writeAnswer(output, answer);
      if (ack && answer.status === 'success') await remote.acknowledge([correlationId], { signal });
      return undefined;
    },
    io,
  );
}

function registerCancel(event: Command, io?: CommandIo): void {
  eventCommand<{ idempotencyKey?: string }>(
    event
      .command('cancel')
      .description('Cancel a task; a completed one keeps its outcome')
      .argument('[id]', 'Correlation ID of the task', parseId)
      .option('--idempotency-key <key>', 'Idempotency key of the task, instead of its ID', parseKey),
    async ({ remote, output, signal }, { idempotencyKey }, correlationId?: string) => {
      if ((correlationId === undefined) === (idempotencyKey === undefined)) {
        throw new UsageFailure('name the task by its id, or by --idempotency-key');
      }
      const task = correlationId === undefined ? { idempotencyKey: idempotencyKey! } : { correlationId };
      writeCanceled(output, await remote.cancel(task, { signal }));
      return undefined;
    },
    io,
  );
}

async function readArgs(text: string | undefined, { stdin }: CommandIo): Promise<Record<string, never>> {
  const value = text === undefined ? {} : await parseArgs(text, stdin);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new UsageFailure('the arguments are not a JSON object', { hint: ARGS_FORM });
  }
  return value as Record<string, never>;
}

async function parseArgs(text: string, stdin: CommandIo['stdin']): Promise<unknown> {
  if (text === '-') return readJsonFile('-', stdin, ARGS_FORM);
  if (text.startsWith('@')) return readJsonFile(text.slice(1), stdin, ARGS_FORM);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageFailure('the arguments are not valid JSON', {
      details: [(error as Error).message],
      hint: ARGS_FORM,
    });
  }
}

const KEY_CHARACTERS_MAX = 200;

function parseKey(text: string): string {
  if (text.length >= 1 && text.length <= KEY_CHARACTERS_MAX) return text;
  throw new InvalidArgumentError(`It must have 1 to ${KEY_CHARACTERS_MAX} characters.`);
}
