import { InvalidArgumentError, Option, type Command } from 'commander';
import type { Readable } from 'node:stream';

import { systemClock, type Clock } from '../../app/clock.ts';
import { HeddleClient } from '../../client/client.ts';
import { CLIENT_EXIT, type ClientExit } from './exit-codes.ts';
import { reportOf, writeFailure } from './failure.ts';
import { Output, type OutputStream } from './output.ts';
import { duration } from './text.ts';

export const DEFAULT_URL = 'http://127.0.0.1:8085';

/** What a command has of the process it runs in. */
export interface CommandIo {
  stdin: Readable;
  stdout: OutputStream;
  stderr: OutputStream;
  clock: Clock;
  exit(code: ClientExit): void;
  /** Calls back at Ctrl-C; returns how to stop listening. */
  onInterrupt(run: () => void): () => void;
}

export const processIo: CommandIo = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  clock: systemClock,
  exit: (code) => {
    process.exitCode = code;
  },
  onInterrupt: (run) => {
    process.once('SIGINT', run);
    return () => process.off('SIGINT', run);
  },
};

const EXIT_CODES_HELP = `
Exit codes: 0 done; 1 it failed; 2 not valid as given; 3 there is no such thing; 4 the server cannot be reached or
cannot answer now; 5 the token is missing or does not suffice; 130 Ctrl-C.`;

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
  /** Where the server is, without a slash at its end. */
  url: string;
}

export type ClientAction<Options> = (
  context: ClientContext,
  options: Options & ClientOptions,
  ...values: string[]
) => Promise<ClientExit | undefined>;

/**
 * Makes a command one that talks to a server: adds its options, runs the action, tells failures and sets the exit code.
 *
 * @param action returns the exit code; undefined means success
 */
export function clientCommand<Options>(command: Command, io: CommandIo, action: ClientAction<Options>): Command {
  return command
    .addOption(
      new Option('--url <url>', 'where the server is').env('HEDDLE_URL').default(DEFAULT_URL).argParser(parseUrl),
    )
    .addOption(new Option('--token <token>', 'bearer token, where the server asks for one').env('HEDDLE_TOKEN'))
    .option('--json', 'JSON on standard output, nothing else')
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

/** A client that follows streams across lost connections, and says so. */
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
      output.notice(`the connection to ${url} is lost; trying again in ${duration(ms)}`);
      await output.clock.sleep(ms, signal);
    },
  });
}

function parseUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new InvalidArgumentError('It must be an http or https address such as http://127.0.0.1:8085.');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new InvalidArgumentError('It must hold no user, password, query or fragment; tokens go with --token.');
  }
  return text;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function isId(text: string): boolean {
  return UUID.test(text);
}

/** Reads an id from the command line. */
export function parseId(text: string): string {
  if (isId(text)) return text.toLowerCase();
  throw new InvalidArgumentError('It must be a UUID, as the list commands show them.');
}

/** Reads a whole number within bounds. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}
