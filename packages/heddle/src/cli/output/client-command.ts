import { InvalidArgumentError, Option, type Command } from 'commander';
import type { Readable } from 'node:stream';

import { systemClock, type Clock } from '@heddle/base/clock';
import { HeddleClient } from '@heddle/client';
import { CLIENT_EXIT } from './exit-codes.ts';
import { reportOf, writeFailure } from './failure.ts';
import { Output, type OutputStream } from '@heddle/base/terminal/output';
import { duration } from '@heddle/base/terminal/text';

const DEFAULT_URL = 'http://127.0.0.1:8085';

/** The parts of the process that a command uses. */
export interface CommandIo {
  stdin: Readable;
  stdout: OutputStream;
  stderr: OutputStream;
  clock: Clock;
  exit(code: number): void;
  /** Calls back at Ctrl-C, or at other signals; returns the function that stops listening. */
  onInterrupt(run: () => void, signals?: readonly NodeJS.Signals[]): () => void;
}

export const processIo: CommandIo = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  clock: systemClock,
  exit: (code) => {
    process.exitCode = code;
  },
  onInterrupt: (run, signals = ['SIGINT']) => {
    for (const signal of signals) process.once(signal, run);
    return () => {
      for (const signal of signals) process.off(signal, run);
    };
  },
};

const EXIT_CODES_HELP = `
Exit codes: 0 success; 1 failed; 2 invalid input; 3 not found; 4 the server is unreachable or temporarily
unavailable; 5 the token is missing or insufficient; 130 Ctrl-C.`;

/** The options of every client command. */
export interface ClientOptions {
  url: string;
  token?: string;
  json?: boolean;
}

export interface ClientContext {
  client: HeddleClient;
  output: Output;
  io: CommandIo;
  /** URL of the server, without a trailing slash. */
  url: string;
}

export type ClientAction<Options> = (
  context: ClientContext,
  options: Options & ClientOptions,
  ...values: string[]
) => Promise<number | undefined>;

/**
 * Makes a command call a server: adds its options, runs the action, reports failures and sets the exit code.
 * @param action returns the exit code; undefined means success
 */
export function clientCommand<Options>(command: Command, io: CommandIo, action: ClientAction<Options>): Command {
  return command
    .addOption(
      new Option('--url <url>', 'URL of the server').env('HEDDLE_URL').default(DEFAULT_URL).argParser(parseUrl),
    )
    .addOption(new Option('--token <token>', 'Bearer token, if the server requires one').env('HEDDLE_TOKEN'))
    .option('--json', 'Print only JSON on standard output')
    .addHelpText('after', EXIT_CODES_HELP)
    .action(async (...given: unknown[]) => {
      const values = given.slice(0, -2) as string[];
      await run(io, given.at(-2) as Options & ClientOptions, values, action);
    });
}

async function run<Options>(
  io: CommandIo,
  options: Options & ClientOptions,
  values: string[],
  action: ClientAction<Options>,
): Promise<void> {
  const { stdout, stderr, clock } = io;
  const output = new Output({ stdout, stderr, clock, json: options.json === true });
  const url = options.url.replace(/\/+$/, '');
  const client = createClient({ url, token: options.token, output });
  try {
    io.exit((await action({ client, output, io, url }, options, ...values)) ?? CLIENT_EXIT.ok);
  } catch (error) {
    const report = reportOf(error, url);
    writeFailure(output, report);
    io.exit(report.exit_code);
  }
}

/** Creates a client that reconnects lost streams and reports it. */
export function createClient({
  url,
  token,
  output,
}: {
  url: string;
  token?: string | undefined;
  output: Output;
}): HeddleClient {
  return new HeddleClient({
    baseUrl: url,
    ...(token === undefined || token === '' ? {} : { token }),
    sleep: async (ms, signal) => {
      output.notice(`lost the connection to ${url}; retrying in ${duration(ms)}`);
      await output.clock.sleep(ms, signal);
    },
  });
}

function parseUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new InvalidArgumentError('It must be an http or https URL such as http://127.0.0.1:8085.');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new InvalidArgumentError('It must not have a user, password, query or fragment; give tokens with --token.');
  }
  return text;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function isId(text: string): boolean {
  return UUID.test(text);
}

/** Parses an id of the command line. */
export function parseId(text: string): string {
  if (isId(text)) return text.toLowerCase();
  throw new InvalidArgumentError('It must be a UUID, as the list commands show them.');
}

/** Parses a whole number within bounds. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}
