import type { Command } from 'commander';

import type { EventClient } from '../../app/remote/event-client.ts';
import { processIo, type CommandIo } from '../output/client-command.ts';
import { eventFailure } from '../output/event-failure.ts';
import { CLIENT_EXIT, type ClientExit } from '../output/exit-codes.ts';
import { reportOf, writeFailure } from '../output/failure.ts';
import { Output } from '@heddle/base/terminal/output';
import { addSettingsOptions, collect, configurationOf, type SettingsOptions } from '../settings-options.ts';

export interface EventOptions extends SettingsOptions {
  executor?: readonly string[];
}

export interface EventContext extends EventClient {
  output: Output;
  io: CommandIo;
  /** Aborts at Ctrl-C. */
  signal: AbortSignal;
}

export type EventAction<Options> = (
  context: EventContext,
  options: Options & EventOptions,
  ...values: string[]
) => Promise<ClientExit | undefined>;

const EXIT_CODES_HELP = `
Exit codes: 0 success; 1 the task failed; 2 invalid input; 3 no such event or task; 4 no executor is reachable or
accepts the task now; 5 not allowed; 130 Ctrl-C, which also cancels the awaited task.`;

/** Makes a command call executors: adds its options, runs the action, reports failures and sets the exit code. */
export function eventCommand<Options>(
  command: Command,
  action: EventAction<Options>,
  io: CommandIo = processIo,
): Command {
  command.option(
    '--executor <url>',
    'Executor: grpc://HOST:PORT, xmlrpc://…, tcp://… or a configured name; may be repeated (HEDDLE_EXECUTORS)',
    collect,
  );
  return addSettingsOptions(command, ['remoteClient', 'remoteCa', 'remoteCert', 'remoteKey', 'remoteToken'])
    .addHelpText('after', EXIT_CODES_HELP)
    .action(async (...given: unknown[]) => {
      await run(io, given.at(-2) as Options & EventOptions, given.slice(0, -2) as string[], action);
    });
}

async function run<Options>(
  io: CommandIo,
  options: Options & EventOptions,
  values: string[],
  action: EventAction<Options>,
): Promise<void> {
  const { stdout, stderr, clock } = io;
  const output = new Output({ stdout, stderr, clock, json: options.json === true });
  const { openEventClient, remoteFaultOf } = await import('../../app/remote/event-client.ts');
  const interrupted = new AbortController();
  const stopListening = io.onInterrupt(() => interrupted.abort(new Error('interrupted by Ctrl-C')));
  let client: EventClient | null = null;
  try {
    client = openEventClient(configurationOf(withExecutors(options)), nameOf(options));
    const code = await action({ ...client, output, io, signal: interrupted.signal }, options, ...values);
    io.exit(code ?? CLIENT_EXIT.ok);
  } catch (error) {
    if (interrupted.signal.aborted) {
      output.notice('interrupted by Ctrl-C');
      io.exit(CLIENT_EXIT.interrupted);
      return;
    }
    const fault = remoteFaultOf(error);
    const report = fault === null ? reportOf(error, '') : eventFailure(fault);
    writeFailure(output, report);
    io.exit(report.exit_code);
  } finally {
    stopListening();
    // Also notifies executors of canceled tasks and received outcomes.
    await client?.executors.close();
  }
}

const isUrl = (text: string): boolean => text.includes('://');

/** The name of a configured executor; null if URLs or nothing was given. */
function nameOf({ executor = [] }: EventOptions): string | null {
  return executor.find((each) => !isUrl(each)) ?? null;
}

function withExecutors({ executor = [], ...options }: EventOptions): SettingsOptions {
  const urls = executor.filter(isUrl);
  return urls.length === 0 ? options : { ...options, set: { ...options.set, HEDDLE_EXECUTORS: urls.join(',') } };
}
